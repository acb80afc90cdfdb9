#include "perf/ring_runner.h"

#include <cstring>

#include "perf/ring_channel.h"

namespace thinwire::perf {
namespace {

constexpr std::size_t kSliceBytes = 1 << 20;

int neighbour(const Session& session, int distance) {
  return (session.rank() + distance + session.ranks()) % session.ranks();
}

}  // namespace

RingRunner::RingRunner(const Options& options, PluginContext& context)
    : context_(context), device_(choose_device(context.net(), options.device)) {
  Session& session = context_.session;
  if (session.ranks() == 1) return;
  const int left = neighbour(session, -1);
  links_ = connect_links(context_.net(), device_.index, {neighbour(session, 1), left},
                         options.channels, session, context_.watch);
  const std::size_t slice = options.chunk_bytes != 0 ? options.chunk_bytes : kSliceBytes;
  session.agree([&] {
    for (const NetLink& link : links_) {
      channels_.push_back(
          std::make_unique<RingChannel>(context_.net(), link, slice, session.rank(), left));
    }
  });
  slice_bytes_ = slice;
}

RingRunner::~RingRunner() = default;

std::string RingRunner::description() const {
  return "net v" + std::to_string(context_.net().version()) + " of " + context_.net().name() +
         ", device " + std::to_string(device_.index) + " " + device_.properties.name + ", " +
         std::to_string(channels_.size()) + " channel(s), ring";
}

void RingRunner::begin(const Work& work) {
  work_ = work;
  const bool gathers = work.collective == Collective::all_gather;
  const std::size_t bytes = gathers ? work.send_bytes() : work.recv_bytes();
  const int channels = static_cast<int>(channels_.size());
  for (int i = 0; i < channels; ++i) {
    const Share share = channel_share(bytes, i, channels);
    channels_[static_cast<std::size_t>(i)]->set_plan(ring_plan({
        .collective = work.collective,
        .rank = context_.session.rank(),
        .ranks = context_.session.ranks(),
        .bytes = bytes,
        .channel_begin = share.begin,
        .channel_end = share.end,
        .slice_bytes = slice_bytes_,
    }));
  }
}

void RingRunner::run(int iterations) {
  if (channels_.empty()) return run_alone();
  for (int i = 0; i < iterations; ++i) {
    for (auto& channel : channels_) channel->restart(work_, context_.session.ranks());
    context_.watch.poll_until(
        [&] {
          bool moved = false;
          for (auto& channel : channels_) moved |= channel->progress();
          return moved;
        },
        [&] {
          for (auto& channel : channels_) {
            if (!channel->finished()) return false;
          }
          return true;
        });
  }
}

// A ring of one rank sends nothing: the input is the result.
void RingRunner::run_alone() {
  if (work_.send != work_.recv) std::memmove(work_.recv, work_.send, work_.recv_bytes());
}

}  // namespace thinwire::perf
