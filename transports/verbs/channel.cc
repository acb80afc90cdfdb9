#include "transports/verbs/channel.h"

#include <arpa/inet.h>
#include <errno.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {

namespace {

constexpr QueueDepths kMessageDepths{kSlots, kSlots};
constexpr QueueDepths kDataDepths{128, kMaxWritten};
constexpr std::size_t kMaxWriteBytes = std::size_t{1} << 30;

// Every path may come to be on any member.
int entries_for(std::size_t paths) {
  const std::size_t data = paths - 1;
  return static_cast<int>(kMessageDepths.send + kMessageDepths.receive +
                          data * (kDataDepths.send + kDataDepths.receive));
}

std::size_t longest_write(const Contexts& contexts) {
  std::size_t bytes = kMaxWriteBytes;
  for (const auto& context : contexts) {
    bytes = std::min<std::size_t>(bytes, context->port().max_msg_sz);
  }
  return bytes;
}

// NCCL_IB_ADAPTIVE_ROUTING and NCCL_IB_AR_THRESHOLD, for these ports.
std::size_t told_apart_above(const Contexts& contexts) {
  const Config& config = contexts[0]->settings().config;
  const bool automatic = config.ib_adaptive_routing < 0;
  const bool apart = automatic ? !contexts[0]->is_ethernet() : config.ib_adaptive_routing == 1;
  return apart ? static_cast<std::size_t>(config.ib_ar_threshold)
               : std::numeric_limits<std::size_t>::max();
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::create(const Contexts& contexts,
                                                 Registrations& registrations, Finished& finished,
                                                 std::uint32_t number, const ChannelShape& shape) {
  auto incoming = SlotMemory::create(contexts);
  if (!incoming.ok()) return incoming.status();
  auto outgoing = SlotMemory::create(contexts);
  if (!outgoing.ok()) return outgoing.status();
  std::unique_ptr<Channel> channel(new Channel(contexts, registrations, finished, number,
                                               std::move(incoming).value(),
                                               std::move(outgoing).value(), shape));
  const Status opened = channel->open();
  if (!opened.ok()) return opened;
  return channel;
}

Channel::Channel(const Contexts& contexts, Registrations& registrations, Finished& finished,
                 std::uint32_t number, std::unique_ptr<SlotMemory> incoming,
                 std::unique_ptr<SlotMemory> outgoing, const ChannelShape& shape)
    : contexts_(contexts),
      incoming_(std::move(incoming)),
      outgoing_(std::move(outgoing)),
      paths_(shape.data_paths + 1),
      pairs_(shape.here, shape.there),
      registrations_(registrations),
      sender_(registrations, *outgoing_, paths_, number, finished, longest_write(contexts),
              told_apart_above(contexts)),
      jobs_(contexts, number, finished),
      receiver_(registrations, sender_, jobs_, number, finished, shape.here),
      mender_(std::make_unique<Mender>(contexts, paths_, pairs_, shape.leads,
                                       contexts[0]->settings().peer_timeout_ns())) {}

Channel::~Channel() {
  for (auto& path : paths_) path.reset();
  for (ibv_cq* queue : queues_) contexts_[0]->api().destroy_cq(queue);
}

Status Channel::make_queue(const Context& context) {
  const int entries = entries_for(paths_.size());
  if (entries > context.limits().max_cqe) {
    return {Code::system_error, "the device's completion queues are too small", entries};
  }
  ibv_cq* queue = context.api().create_cq(context.native(), entries, this, context.channel());
  if (queue == nullptr) return {Code::system_error, "no completion queue", errno};
  queues_.push_back(queue);
  return {};
}

Status Channel::open() {
  for (const auto& context : contexts_) {
    if (const Status status = make_queue(*context); !status.ok()) return status;
  }
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const bool messages = i == 0;
    paths_[i] = std::make_unique<Path>(contexts_, queues_, static_cast<std::uint16_t>(i),
                                       messages ? kMessageDepths : kDataDepths,
                                       messages ? incoming_.get() : nullptr);
    if (const Status status = paths_[i]->open(pairs_.home(i)); !status.ok()) return status;
  }
  mender_->ports_changed();
  return {};
}

std::vector<PathAddress> Channel::addresses() const {
  std::vector<PathAddress> addresses;
  for (const auto& path : paths_) addresses.push_back(path->address());
  return addresses;
}

Status Channel::connect(std::span<const PathAddress> peer) {
  if (peer.size() != paths_.size()) return {Code::peer_lost, "the peer has other paths"};
  Status last;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < peer.size(); ++i) {
    const Status status = paths_[i]->connect(peer[i]);
    if (status.ok()) {
      paths_[i]->start();
    } else {
      mender_->fail(i, Stop::failure, status.text());
      last = status;
      ++lost;
    }
  }
  return lost == paths_.size() || pairs_.size() == 1 ? last : Status();
}

Status Channel::post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                          std::uint64_t cookie) {
  const Status status = sender_.post(data, bytes, tag, memory, cookie, freed());
  note(status);
  return status;
}

Status Channel::post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
  receiver_.post(buffers, cookie);
  sender_.flush(freed());
  return {};
}

Status Channel::post_flush(const void* data, MemoryKey memory, std::uint64_t cookie) {
  const Registered* registered = registrations_.find(memory);
  if (registered == nullptr) return {Code::invalid_argument, "a flush needs registered memory"};
  jobs_.flush(data, registered->remote_keys, cookie);
  return {};
}

bool Channel::poll(ibv_cq* queue) {
  constexpr int kMaxRounds = 4;
  std::array<ibv_wc, 32> completions;
  bool any = false;
  for (int round = 0; round < kMaxRounds; ++round) {
    const int count = contexts_[0]->api().poll_cq(queue, static_cast<int>(completions.size()),
                                                  completions.data());
    // That of a device which failed may be gone with it.
    const bool lost = count < 0 && contexts_.size() == 1;
    if (lost) note({Code::system_error, "the completion queue cannot be polled", -count});
    for (int i = 0; i < count; ++i) take(completions[static_cast<std::size_t>(i)]);
    any |= count > 0;
    if (count < static_cast<int>(completions.size())) break;
  }
  return any;
}

bool Channel::progress() {
  bool any = false;
  for (ibv_cq* queue : queues_) {
    if (!closed_) any |= poll(queue);
  }
  if (closed_) return any;
  any |= jobs_.progress();
  while (void* slot = jobs_.next_copied()) receiver_.copied(slot);
  take_done();
  for (const auto& path : paths_) path->post_waiting();
  sender_.feed();
  sender_.flush(freed());
  return any;
}

void Channel::take(const ibv_wc& completion) {
  const WorkName name = WorkName::unpack(completion.wr_id);
  if (name.path >= paths_.size()) return;
  Path& path = *paths_[name.path];
  if (name.epoch != path.epoch() || !path.has_queue_pair()) return;  // of one that is gone
  if (completion.status != IBV_WC_SUCCESS) return take_failed(completion, name);
  path.prove();
  if (!name.receive) return path.retire(name.number);
  path.take_receive(true);
  if (name.path == 0)
    take_message(name.number, completion.byte_len);
  else
    receiver_.written(Immediate::unpack(ntohl(completion.imm_data)));
  path.post_receive(name.number);
}

void Channel::take_failed(const ibv_wc& completion, const WorkName& name) {
  Path& path = *paths_[name.path];
  if (name.receive)
    path.take_receive(false);
  else
    path.retire(name.number);
  if (path.is_stopped()) return;
  mender_->fail(name.path, Stop::failure,
                "error " + std::to_string(completion.status) + " (vendor " +
                    std::to_string(completion.vendor_err) + "): " + words_of(completion.status));
}

void Channel::take_message(std::uint32_t slot, std::uint32_t bytes) {
  MessageHeader header;
  const std::byte* at = incoming_->at(slot);
  if (bytes >= sizeof header) std::memcpy(&header, at, sizeof header);
  if (bytes != sizeof header + header.piece_bytes) {
    return note({Code::peer_lost, "the peer's message makes no sense"});
  }
  ++slots_freed_;
  sender_.take_counts(header);
  switch (header.kind) {
    case MessageKind::credit:
      return;
    case MessageKind::clear:
      return note(sender_.take_clear(header, {at + sizeof header, header.piece_bytes}));
    case MessageKind::data:
    case MessageKind::request:
      return receiver_.arrive(header, {at + sizeof header, header.piece_bytes});
  }
  note({Code::peer_lost, "the peer's message is of no known kind"});
}

void Channel::take_done() {
  for (const auto& path : paths_) {
    while (const Work* work = path->next_done()) sender_.work_done(*work);
  }
}

bool Channel::arm() {
  if (closed_) return true;
  for (ibv_cq* queue : queues_) {
    if (contexts_[0]->api().req_notify_cq(queue) != 0) return false;
  }
  return jobs_.arm();
}

Status Channel::failure() const {
  if (failure_.failed()) return failure_;
  if (jobs_.failure().failed()) return jobs_.failure();
  return mender_->failure().failed() ? mender_->failure() : receiver_.failure();
}

std::vector<std::byte> Channel::delivered() const {
  std::vector<std::byte> counts(paths_.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const std::uint32_t count = paths_[i]->delivered();
    std::memcpy(counts.data() + i * sizeof count, &count, sizeof count);
  }
  return counts;
}

bool Channel::has_received(std::span<const std::byte> delivered) const {
  for (std::size_t i = 0; i < paths_.size() && (i + 1) * sizeof(std::uint32_t) <= delivered.size();
       ++i) {
    std::uint32_t count = 0;
    std::memcpy(&count, delivered.data() + i * sizeof count, sizeof count);
    if (static_cast<std::int32_t>(paths_[i]->received() - count) < 0) return false;
  }
  return true;
}

void Channel::fail_posts(const Status& status) {
  if (closed_) return;
  closed_ = true;
  for (const auto& path : paths_) path->close();
  jobs_.fail(status);
  sender_.fail(status);
  receiver_.fail(status);
}

void Channel::add_to(Counters& counters) const {
  counters.bytes_sent += sender_.sent_bytes();
  counters.payload_sent += sender_.payload_bytes();
  counters.messages_sent += sender_.messages();
  counters.unexpected_bytes += receiver_.unexpected_bytes();
}

}  // namespace thinwire::transports::verbs
