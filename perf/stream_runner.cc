#include "perf/stream_runner.h"

#include <algorithm>
#include <cstring>

namespace thinwire::perf {
namespace {

constexpr std::size_t kNcclP2pChunk = 128 << 10;
constexpr std::size_t kMaxFootprint = 64 << 20;

int buffers_wanted(const Options& options) {
  return options.buffers != 0 ? options.buffers : options.outstanding;
}

const char* name_of(Pattern pattern) {
  constexpr const char* kNames[] = {"ring", "pair", "pingpong"};
  return kNames[static_cast<int>(pattern)];
}

}  // namespace

Peers peers_of(Pattern pattern, int rank, int ranks) {
  if (pattern == Pattern::ring) {
    if (ranks == 1) return {};
    return {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
  }
  if (ranks % 2 != 0) {
    throw Failure(ExitCode::usage, std::string("--pattern ") + name_of(pattern) + " with " +
                                       std::to_string(ranks) +
                                       " rank(s); accepted: an even number of ranks");
  }
  const int partner = rank ^ 1;
  if (pattern == Pattern::pingpong) return {partner, partner};
  return rank % 2 == 0 ? Peers{partner, -1} : Peers{-1, partner};
}

int stream_copies(const Options& options, std::size_t bytes) {
  if (options.pattern != Pattern::pair || bytes == 0) return 1;
  const std::size_t fitting = std::max<std::size_t>(1, kMaxFootprint / bytes);
  return static_cast<int>(
      std::min<std::size_t>(fitting, static_cast<std::size_t>(buffers_wanted(options))));
}

StreamRunner::StreamRunner(const Options& options, PluginContext& context)
    : options_(options),
      context_(context),
      device_(choose_device(context.net(), options.device)),
      peers_(peers_of(options.pattern, context.session.rank(), context.session.ranks())),
      sends_(context.net(), static_cast<std::size_t>(options.outstanding)),
      recvs_(context.net(), static_cast<std::size_t>(options.outstanding)) {
  if (context_.session.ranks() == 1) return;
  links_ =
      connect_links(context_.net(), device_.index, peers_, 1, context_.session, context_.watch);
}

std::string StreamRunner::description() const {
  const std::string chunk = chunk_bytes_ == 0 ? "" : ", chunks of " + std::to_string(chunk_bytes_);
  const std::string buffers = options_.pattern != Pattern::pair
                                  ? ""
                                  : ", " + std::to_string(buffers_wanted(options_)) + " buffer(s)";
  return "net v" + std::to_string(context_.net().version()) + " of " + context_.net().name() +
         ", device " + std::to_string(device_.index) + " " + device_.properties.name + ", " +
         name_of(options_.pattern) + ", " + std::to_string(options_.outstanding) + " outstanding" +
         buffers + chunk;
}

void StreamRunner::attach(Pages& send, Pages& recv) {
  if (links_.empty()) return;
  send_memory_.emplace(context_.net(), links_[0].send(), send.data(), send.size());
  recv_memory_.emplace(context_.net(), links_[0].recv(), recv.data(), recv.size());
}

void StreamRunner::begin(const Work& work) {
  work_ = work;
  const std::size_t bytes = work.send_bytes();
  const std::size_t wanted = options_.chunk_bytes != 0           ? options_.chunk_bytes
                             : options_.pattern == Pattern::ring ? kNcclP2pChunk
                                                                 : bytes;
  chunk_bytes_ = std::min(std::max<std::size_t>(wanted, 1), device_.properties.max_p2p_bytes);
  chunks_per_message_ = (bytes + chunk_bytes_ - 1) / chunk_bytes_;
  copies_ = static_cast<std::size_t>(copies(bytes));
}

std::size_t StreamRunner::offset_of(std::size_t index) const {
  const std::size_t message = index / chunks_per_message_;
  return message % copies_ * work_.send_bytes() + index % chunks_per_message_ * chunk_bytes_;
}

std::size_t StreamRunner::bytes_of(std::size_t index) const {
  return std::min(chunk_bytes_, work_.send_bytes() - index % chunks_per_message_ * chunk_bytes_);
}

bool StreamRunner::progress_sends() {
  bool moved = false;
  NetApi& net = context_.net();
  if (sends_.pop_if_done(nullptr)) {
    ++sending_.done;
    moved = true;
  }
  while (sending_.posted < sending_.total && !sends_.full()) {
    void* request = nullptr;
    nccl_check(net,
               net.isend(links_[0].send(), work_.send + offset_of(sending_.posted),
                         bytes_of(sending_.posted), context_.session.rank(), send_memory_->memory(),
                         &request),
               "isend");
    if (request == nullptr) break;
    sends_.push(request);
    ++sending_.posted;
    moved = true;
  }
  return moved;
}

bool StreamRunner::progress_recvs() {
  bool moved = false;
  NetApi& net = context_.net();
  int bytes = 0;
  if (recvs_.pop_if_done(&bytes)) {
    if (static_cast<std::size_t>(bytes) != bytes_of(receiving_.done)) {
      throw Failure(ExitCode::runtime_error,
                    "a message of " + std::to_string(bytes) + " bytes arrived where " +
                        std::to_string(bytes_of(receiving_.done)) + " were expected");
    }
    ++receiving_.done;
    moved = true;
  }
  while (receiving_.posted < receiving_.total && !recvs_.full()) {
    void* request = nullptr;
    nccl_check(
        net,
        net.irecv(links_[0].recv(), work_.recv + offset_of(receiving_.posted),
                  bytes_of(receiving_.posted), peers_.recv_from, recv_memory_->memory(), &request),
        "irecv");
    if (request == nullptr) break;
    recvs_.push(request);
    ++receiving_.posted;
    moved = true;
  }
  return moved;
}

void StreamRunner::stream(int sends, int recvs) {
  sending_ = {0, 0, static_cast<std::size_t>(sends) * chunks_per_message_};
  receiving_ = {0, 0, static_cast<std::size_t>(recvs) * chunks_per_message_};
  context_.watch.poll_until(
      [&] {
        const bool received = receiving_.done < receiving_.total && progress_recvs();
        const bool sent = sending_.done < sending_.total && progress_sends();
        return received || sent;
      },
      [&] { return sending_.done == sending_.total && receiving_.done == receiving_.total; });
}

void StreamRunner::run(int iterations) {
  if (chunks_per_message_ == 0) return;
  if (links_.empty()) {
    std::memcpy(work_.recv, work_.send, work_.recv_bytes());
    return;
  }
  if (options_.pattern != Pattern::pingpong) {
    return stream(peers_.send_to >= 0 ? iterations : 0, peers_.recv_from >= 0 ? iterations : 0);
  }
  const bool starts = context_.session.rank() % 2 == 0;
  for (int i = 0; i < iterations; ++i) {
    if (starts) stream(1, 0);
    stream(0, 1);
    if (!starts) stream(1, 0);
  }
}

}  // namespace thinwire::perf
