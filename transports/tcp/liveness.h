// Dead, stopped or merely late: the decisions, without the sockets. A peer that is late is never
// lost: only missing acknowledgements of its kernel, or of itself where heartbeats are on, are.
// Pure; owner: a Connection; one thread.
#pragma once

#include <cstdint>

namespace thinwire::transports::tcp {

// What the kernel knows of one stream (TCP_INFO).
struct PathFacts {
  bool has_unacknowledged = false;
  bool is_retransmitting = false;
  int unanswered_probes = 0;  // of a closed window
  std::int64_t since_last_ack_ns = 0;
};

// Watches one stream. TCP_USER_TIMEOUT would do nearly the same, but it also kills connections
// whose peer answers, with a window that stays closed.
class PathWatch {
 public:
  // True: the peer's kernel has been silent for the timeout, though it had to answer. Call about
  // once a second while data is outstanding.
  bool is_lost(const PathFacts& facts, std::int64_t now_ns, std::int64_t timeout_ns);

 private:
  std::int64_t stuck_since_ns_ = -1;
};

// Asks a silent peer for a sign of life.
class Heartbeat {
 public:
  enum class Action { none, send_ping, peer_lost };

  Heartbeat(std::int64_t interval_ns, std::int64_t timeout_ns)
      : interval_ns_(interval_ns), timeout_ns_(timeout_ns) {}

  bool is_on() const { return interval_ns_ > 0; }
  void heard(std::int64_t now_ns) {
    last_heard_ns_ = now_ns;
    pinged_at_ns_ = -1;
  }
  Action tick(std::int64_t now_ns);

 private:
  std::int64_t interval_ns_;
  std::int64_t timeout_ns_;
  std::int64_t last_heard_ns_ = 0;
  std::int64_t pinged_at_ns_ = -1;
};

// Reads the facts of a connected TCP socket.
PathFacts read_path_facts(int fd);

}  // namespace thinwire::transports::tcp
