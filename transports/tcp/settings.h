// What every part of the TCP transport needs to know: built once by TcpTransport, held by
// reference. Read-only after construction, but for one flag; any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/config.h"
#include "base/host_identity.h"
#include "base/log.h"
#include "base/nic_info.h"
#include "transports/tcp/handle.h"
#include "transports/tcp/introduction.h"

namespace thinwire::transports::tcp {

struct Settings {
  Settings(const Config& the_config, const Log& the_log, const Clock& the_clock)
      : config(the_config), log(the_log), clock(the_clock), host(host_identity(config.hostid)) {}

  std::int64_t connect_timeout_ns() const { return config.connect_timeout_s * 1'000'000'000; }
  std::int64_t peer_timeout_ns() const { return config.peer_timeout_s * 1'000'000'000; }
  std::uint64_t window_bytes() const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(config.tcp_window_bytes, 16 * 1024));
  }

  const Config config;
  const Log& log;
  const Clock& clock;
  const HostIdentity host;
  mutable std::atomic<bool> warned_of_congestion{false};
};

// How many sockets a new connection through `nic` gets.
int stream_count(const Config& config, const NicInfo& nic, bool same_host);

// Applies the configured options to a socket, before connect() or listen(). `same_host`: both ends
// are on this machine. Refusals are no failure; an unknown congestion control is warned of once.
void apply_socket_options(int fd, const Settings& settings, bool same_host);

}  // namespace thinwire::transports::tcp
