#include "perf/collnet_runner.h"

#include <algorithm>
#include <cstring>

#include "perf/call_limit.h"
#include "perf/host_reduce.h"
#include "perf/payload.h"

namespace thinwire::perf {

CollNetRunner::CollNetRunner(const Options& options, PluginContext& context)
    : options_(options),
      context_(context),
      api_(*context.collnet()),
      device_(choose_device(api_, options.device)) {
  connect();
  const int groups = (options.channels + kGroupChannels - 1) / kGroupChannels;
  for (int i = 0; i < groups; ++i) {
    groups_.push_back({RequestQueue(api_, kStepsInFlight), {}});
  }
}

CollNetRunner::~CollNetRunner() {
  registrations_.clear();
  if (comm_ != nullptr) (void)api_.close_collective(comm_);
}

void CollNetRunner::connect() {
  Session& session = context_.session;
  void* listener = nullptr;
  ListenHandle handle{};
  session.agree(
      [&] { nccl_check(api_, api_.listen(device_.index, &handle, &listener), "CollNet listen"); });
  std::vector<ListenHandle> handles;
  for (const std::string& text : session.all_gather({handle.data(), handle.size()})) {
    ListenHandle peer{};
    std::memcpy(peer.data(), text.data(), std::min(peer.size(), text.size()));
    handles.push_back(peer);
  }
  // After a failed connect NCCL drops the listener without closing it.
  session.agree([&] {
    const CallLimit limit(session.rank(), "CollNet connect", options_.timeout_s);
    nccl_check(api_,
               api_.connect(handles.data(), session.ranks(), session.rank(), listener, &comm_),
               "CollNet connect");
    nccl_check(api_, api_.close_listen(listener), "CollNet closeListen");
  });
}

std::string CollNetRunner::description() const {
  const char* how = options_.registered ? "registered buffers"
                    : options_.staging  ? "staging buffers"
                                        : "NCCL's chunks";
  return "collnet v" + std::to_string(api_.version()) + " of " + api_.name() + ", device " +
         std::to_string(device_.index) + " " + device_.properties.name + ", " +
         std::to_string(options_.channels) + " channel(s), " + how;
}

bool CollNetRunner::supports(const Work& work) {
  if (work.collective != Collective::all_reduce && !api_.has_windows()) return false;
  if (!reduces(work.collective)) return true;
  int supported = 0;
  nccl_check(api_,
             api_.reduce_support(static_cast<int>(work.type), static_cast<int>(network_op(work.op)),
                                 &supported),
             "reduceSupport");
  return supported != 0;
}

std::size_t CollNetRunner::tail_bytes() const {
  const std::size_t chunk = std::max<std::size_t>(options_.chunk_bytes, 512 << 10);
  return options_.registered ? 0 : chunk * static_cast<std::size_t>(options_.channels);
}

void CollNetRunner::attach(Pages& send, Pages& recv) {
  registrations_.emplace_back(api_, comm_, send.data(), send.size());
  registrations_.emplace_back(api_, comm_, recv.data(), recv.size());
  recv_begin_ = recv.data();
  recv_size_ = recv.size();
  if (!options_.staging) return;
  for (std::optional<Pages>* pages : {&staging_send_, &staging_recv_}) {
    pages->emplace(staging_bytes(options_.channels, options_.chunk_bytes));
    if (options_.poison) fill_poison((*pages)->data(), (*pages)->size());
    registrations_.emplace_back(api_, comm_, (*pages)->data(), (*pages)->size());
  }
}

// In-place work sends from the receive buffer.
void* CollNetRunner::memory_of(const std::byte* data) const {
  const bool in_recv = data >= recv_begin_ && data < recv_begin_ + recv_size_;
  return registrations_[in_recv ? 1 : 0].memory();
}

void CollNetRunner::begin(const Work& work) {
  work_ = work;
  const bool gathers = work.collective == Collective::all_gather;
  calls_ = collnet_plan({
      .collective = work.collective,
      .rank = context_.session.rank(),
      .ranks = context_.session.ranks(),
      .bytes = gathers ? work.send_bytes() : work.recv_bytes(),
      .channels = options_.channels,
      .chunk_bytes = options_.chunk_bytes,
      .registered = options_.registered,
      .max_call_bytes = device_.properties.max_collective_bytes,
  });
}

CollBuffer CollNetRunner::send_buffer(const CollNetCall& call) const {
  if (options_.staging) {
    return {staging_send_->data() + call.staging_offset, registrations_[2].memory()};
  }
  return {work_.send + call.send_offset, memory_of(work_.send)};
}

CollBuffer CollNetRunner::recv_buffer(const CollNetCall& call) const {
  if (options_.staging) {
    return {staging_recv_->data() + call.staging_offset, registrations_[3].memory()};
  }
  return {work_.recv + call.recv_offset, memory_of(work_.recv)};
}

void* CollNetRunner::submit(const CollNetCall& call) {
  const CollBuffer send = send_buffer(call);
  const CollBuffer recv = recv_buffer(call);
  const int type = static_cast<int>(work_.type);
  const int op = static_cast<int>(network_op(work_.op));
  void* request = nullptr;
  switch (work_.collective) {
    case Collective::all_gather:
      nccl_check(api_, api_.iallgather(comm_, send, recv, call.window, &request), "iallgather");
      break;
    case Collective::reduce_scatter:
      nccl_check(api_, api_.ireducescatter(comm_, send, recv, call.window, type, op, &request),
                 "ireducescatter");
      break;
    case Collective::all_reduce:
    case Collective::send_recv:
      nccl_check(api_,
                 api_.iallreduce(comm_, send, recv, call.call_bytes / element_bytes(work_.type),
                                 type, op, &request),
                 "iallreduce");
      break;
  }
  return request;
}

// Calls are made in one order on all ranks: a refused one holds up those behind it.
bool CollNetRunner::submit_next() {
  if (next_ == calls_.size()) return false;
  const CollNetCall& call = calls_[next_];
  Group& group = groups_[static_cast<std::size_t>(call.group)];
  if (group.queue.full()) return false;
  if (options_.staging && call.send_bytes > 0) {
    std::memcpy(staging_send_->data() + call.staging_offset, work_.send + call.send_offset,
                call.send_bytes);
  }
  void* request = submit(call);
  if (request == nullptr) return false;
  group.queue.push(request);
  group.calls.push_back(next_++);
  return true;
}

bool CollNetRunner::complete_oldest(Group& group) {
  if (!group.queue.pop_if_done(nullptr)) return false;
  const CollNetCall& call = calls_[group.calls.front()];
  group.calls.pop_front();
  ++completed_;
  if (options_.staging && call.recv_bytes > 0) {
    std::memcpy(work_.recv + call.recv_offset, staging_recv_->data() + call.staging_offset,
                call.recv_bytes);
  }
  return true;
}

void CollNetRunner::run_once() {
  next_ = completed_ = 0;
  context_.watch.poll_until(
      [&] {
        bool moved = submit_next();
        for (Group& group : groups_) moved |= complete_oldest(group);
        return moved;
      },
      [&] { return completed_ == calls_.size(); });
  if (work_.op == PerfOp::avg && reduces(work_.collective)) {
    scale_average(work_.recv, work_.shape.recv_count, work_.type, context_.session.ranks());
  }
}

void CollNetRunner::run(int iterations) {
  for (int i = 0; i < iterations; ++i) run_once();
}

}  // namespace thinwire::perf
