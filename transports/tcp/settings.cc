#include "transports/tcp/settings.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

namespace thinwire::transports::tcp {

namespace {

// On one host what is in flight should stay in the cache.
constexpr int kSameHostBufferBytes = 512 * 1024;

void set_congestion(int fd, const Settings& settings) {
  const std::string& name = settings.config.tcp_congestion;
  if (name.empty()) return;
  if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                   static_cast<socklen_t>(name.size())) == 0) {
    return;
  }
  const int error = errno;
  if (settings.warned_of_congestion.exchange(true)) return;
  std::string offered;
  std::getline(std::ifstream("/proc/sys/net/ipv4/tcp_available_congestion_control"), offered);
  THINWIRE_WARN(settings.log,
                "THINWIRE_TCP_CONGESTION=%s: %s; this kernel offers: %s. Using its default.",
                name.c_str(), std::strerror(error), offered.c_str());
}

// Finds a peer's host that vanished while nothing was under way; its kernel answers, so a process
// that is stopped or late is not taken for dead.
void set_keepalive(int fd, std::int64_t timeout_s) {
  constexpr int kProbes = 3;
  const auto idle = static_cast<int>(std::max<std::int64_t>(timeout_s / 2, 1));
  const auto interval = static_cast<int>(std::max<std::int64_t>((timeout_s - idle) / kProbes, 1));
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

}  // namespace

int stream_count(const Config& config, const NicInfo& nic, bool same_host) {
  if (config.tcp_streams > 0) {
    return static_cast<int>(std::min<std::int64_t>(config.tcp_streams, kMaxStreams));
  }
  if (same_host) return 1;
  // Clouds' virtual NICs hide their speed and limit each flow.
  if (!nic.speed_known) return 4;
  // Flows that meet at a slow port only take packets from one another.
  if (nic.speed_mbps <= 10'000) return 1;
  return nic.speed_mbps <= 50'000 ? 4 : 8;
}

void apply_socket_options(int fd, const Settings& settings, bool same_host) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_keepalive(fd, settings.config.peer_timeout_s);
  std::int64_t buffer = settings.config.tcp_socket_buffer_bytes;
  if (buffer == 0 && same_host) buffer = kSameHostBufferBytes;
  if (buffer > 0) {
    set_option(fd, SOL_SOCKET, SO_SNDBUF, static_cast<int>(buffer));
    set_option(fd, SOL_SOCKET, SO_RCVBUF, static_cast<int>(buffer));
  }
  set_congestion(fd, settings);
}

}  // namespace thinwire::transports::tcp
