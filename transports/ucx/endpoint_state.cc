#include "transports/ucx/endpoint_state.h"

#include <algorithm>

#include "transports/random.h"
#include "transports/ucx/channel.h"
#include "transports/ucx/control_message.h"

namespace thinwire::transports::ucx {

namespace {
constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kLettingGoNs = 2'000 * kMillisecondNs;
constexpr std::int64_t kEndingNs = 250 * kMillisecondNs;
constexpr std::int64_t kDepartingNs = 2'000 * kMillisecondNs;
}  // namespace

EndpointState::EndpointState(const Context& the_context, Endpoint& the_control)
    : context(the_context), number(random_number()), links(kControlFormat, the_control) {}

EndpointState::~EndpointState() {
  // What UCX still does for channels of the shared worker ends with it; their halves must live
  // until then.
  for (Departing& each : departing) each.channel->abort();
  const auto holds = [](const Departing& each) { return each.channel->holds_buffers(); };
  const std::int64_t until_ns = settings().clock.now_ns() + kEndingNs;
  while (std::ranges::any_of(departing, holds) && settings().clock.now_ns() < until_ns) {
    progress_workers();
  }
  for (Departing& each : departing) each.channel->abandon();
  shared_worker.reset();
}

bool EndpointState::message_arrived(const ActiveMessage& message) {
  const auto at = channels.find(message.header.connection);
  return at != channels.end() && at->second->message_arrived(message);
}

bool EndpointState::progress_workers() {
  constexpr int kMaxRounds = 8;
  bool any = false;
  for (Worker* worker : workers) {
    for (int round = 0; round < kMaxRounds && worker->progress(); ++round) any = true;
  }
  return any;
}

void EndpointState::let_go(std::unique_ptr<Channel> channel, bool in_order) {
  const Clock& clock = settings().clock;
  const std::int64_t now_ns = clock.now_ns();
  channel->receiver().stop();
  // Posts that are dropped here have buffers that may be gone already: UCX, which packs waiting
  // sends when it is progressed, must not come to it any more.
  const bool drops_posts = channel->works_on_posts();
  // A peer that is gone by now need not be waited for.
  if (!drops_posts) progress_workers();
  const bool has_sent = channel->sender().messages() > 0;
  if (in_order && has_sent && !drops_posts && !channel->failure().failed())
    channel->close();
  else
    channel->abort();
  while (drops_posts && channel->holds_buffers()) {
    if (clock.now_ns() >= now_ns + kLettingGoNs) {
      THINWIRE_WARN(settings().log, "UCX does not let go of the buffers of a closed connection");
      break;
    }
    progress_workers();
  }
  channel->fail_posts({Code::peer_lost, "closed"});
  finished.forget(channel->number());
  if (!channel->progress()) departing.push_back({std::move(channel), now_ns + kDepartingNs});
}

void EndpointState::progress_departing(std::int64_t now_ns) {
  std::erase_if(departing, [&](Departing& each) {
    if (now_ns >= each.until_ns) each.channel->abort();
    return each.channel->progress();
  });
}

bool EndpointState::finish_departing(std::int64_t now_ns) {
  progress_workers();
  links.poll();
  progress_departing(now_ns);
  return departing.empty() && links.is_quiet();
}

}  // namespace thinwire::transports::ucx
