// PlainFlow: one plain TCP stream to a peer and one from a peer, read and written in a loop. The
// yardstick for the transports (sendrecv_perf --reference) and for the wire (wire_probe).
// Owner: one object a rank; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "perf/net_link.h"
#include "perf/session.h"
#include "perf/sockets.h"
#include "perf/watch.h"

namespace thinwire::perf {

// How a flow waits when nothing moves: spinning has the lower latency, sleeping leaves the cores to
// others.
enum class Waiting : std::uint8_t { spin, sleep };

class PlainFlow {
 public:
  // Connects on addresses of `host`; collective over the session.
  PlainFlow(const std::string& host, Peers peers, const std::string& congestion, Waiting waiting,
            Session& session, Watch& watch);

  // Sends `send` and receives `recv` messages of `bytes`, both at once; returns when the last byte
  // is handed to the kernel and has arrived, respectively. The buffers hold one message each.
  void stream(const std::byte* out, std::byte* in, std::size_t bytes, std::size_t send,
              std::size_t recv);

 private:
  struct Progress {
    std::size_t left = 0;
    std::size_t at = 0;  // within the message
  };
  bool move_out(Progress& progress, const std::byte* data, std::size_t bytes);
  bool move_in(Progress& progress, std::byte* data, std::size_t bytes);
  void wait(bool out, bool in);

  Socket out_;
  Socket in_;
  Waiting waiting_;
  Watch& watch_;
};

// An address of network interface `name`, IPv4 first; `fallback` where there is none.
std::string host_of_interface(const std::string& name, const std::string& fallback);

}  // namespace thinwire::perf
