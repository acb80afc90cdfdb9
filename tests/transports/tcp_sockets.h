// What the tests of real TCP sockets share: a transport of their own, its descriptors, strangers.
// Owner: each test; one thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/tcp/handle.h"
#include "transports/tcp/introduction.h"
#include "transports/tcp/socket.h"
#include "transports/tcp/tcp_transport.h"

namespace thinwire::transports::tcp {

// Two endpoints on loopback and what connects them.
class TcpPair {
 public:
  TcpPair(const Config& config, const Clock& clock);

  // Polls both sides (or those switched on) until `condition`; false after a hang's time.
  bool progress_until(const std::function<bool()>& condition);
  void poll_once();
  std::unique_ptr<Listener> listen();
  // Connects left to right through `listener`.
  bool connect(Listener& listener);
  bool connect() { return connect(*listen()); }

  // Sends `count` messages of `bytes` from left to right, at most eight at once, and compares them.
  bool transfer(std::size_t count, std::size_t bytes);

  bool poll_left = true;
  bool poll_right = true;
  Log log;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Endpoint> left, right;
  std::unique_ptr<Connection> from, to;
  std::vector<Completion> left_done, right_done;
};

Config loopback_config();
SocketAddress address_of(const Listener& listener);

// A plain connected socket, blocking.
UniqueFd connect_plainly(const SocketAddress& address);
// Whether the other side has closed it; what it sent is read away.
bool is_closed_by_peer(const UniqueFd& socket);
Introduction introduction_for(const Listener& listener);
void send_bytes(const UniqueFd& socket, std::span<const std::byte> bytes);

// This process's descriptors: how many, and the sockets whose peer is at `port`.
std::size_t open_descriptors();
std::vector<int> sockets_to(std::uint16_t port);

}  // namespace thinwire::transports::tcp
