#include "transports/tcp/liveness.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace thinwire::transports::tcp {

namespace {
constexpr int kProbesOfConcern = 3;
}

bool PathWatch::is_lost(const PathFacts& facts, std::int64_t now_ns, std::int64_t timeout_ns) {
  const bool stuck = (facts.has_unacknowledged && facts.is_retransmitting) ||
                     facts.unanswered_probes >= kProbesOfConcern;
  if (!stuck) {
    stuck_since_ns_ = -1;
    return false;
  }
  if (stuck_since_ns_ < 0) stuck_since_ns_ = now_ns;
  // Both: after an idle hour the last acknowledgement is old when the first loss happens, and a
  // path that loses much is stuck at every look although acknowledgements arrive.
  return now_ns - stuck_since_ns_ >= timeout_ns && facts.since_last_ack_ns >= timeout_ns;
}

Heartbeat::Action Heartbeat::tick(std::int64_t now_ns) {
  if (!is_on()) return Action::none;
  if (pinged_at_ns_ >= 0) {
    return now_ns - pinged_at_ns_ >= timeout_ns_ ? Action::peer_lost : Action::none;
  }
  if (now_ns - last_heard_ns_ < interval_ns_) return Action::none;
  pinged_at_ns_ = now_ns;
  return Action::send_ping;
}

PathFacts read_path_facts(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  PathFacts facts;
  facts.has_unacknowledged = info.tcpi_unacked > 0;
  facts.is_retransmitting = info.tcpi_retransmits > 0 || info.tcpi_backoff > 0;
  facts.unanswered_probes = info.tcpi_probes;
  facts.since_last_ack_ns = std::int64_t{info.tcpi_last_ack_recv} * 1'000'000;
  return facts;
}

}  // namespace thinwire::transports::tcp
