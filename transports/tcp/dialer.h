// The connecting side of a set-up: opens every socket of one connection, introduces it, reads the
// answer. Retries until the configured time is over. Owner: a Connection; one thread; never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "transports/tcp/events.h"
#include "transports/tcp/handle.h"
#include "transports/tcp/introduction.h"
#include "transports/tcp/settings.h"
#include "transports/tcp/socket.h"

namespace thinwire::transports::tcp {

class Dialer {
 public:
  struct Target {
    SocketAddress address;
    SocketAddress source;  // bound before connecting; family none: the kernel chooses
    Token token{};
    int streams = 1;
    bool same_host = false;
  };

  Dialer(const Settings& settings, EventSet& events, const Target& target,
         std::span<const std::byte> hello);

  // would_block: not yet. ok: all streams are welcome. Code::peer_lost: refused, or no answer in
  // time (logged).
  Status progress();

  // Once progress() said ok: the sockets in stream order.
  std::vector<UniqueFd> take_sockets();
  std::uint64_t peer_window_bytes() const { return peer_window_bytes_; }

 private:
  struct Attempt {
    UniqueFd fd;
    Watch watch;  // after fd: ends first
    std::size_t sent = 0;
    std::size_t received = 0;
    std::array<std::byte, kReplyBytes> reply{};
    bool welcome = false;
    int failures = 0;
    std::int64_t retry_at_ns = 0;
  };
  Status progress_one(std::size_t index, std::int64_t now_ns);
  Status open(Attempt& attempt);
  Status send_introduction(std::size_t index);
  Status read_reply(Attempt& attempt);
  void retry_later(Attempt& attempt, std::int64_t now_ns, int error);

  const Settings& settings_;
  EventSet& events_;
  const Target target_;
  Introduction introduction_;
  std::vector<Attempt> attempts_;
  std::int64_t give_up_at_ns_;
  std::uint64_t peer_window_bytes_ = 0;
  int last_error_ = 0;
};

}  // namespace thinwire::transports::tcp
