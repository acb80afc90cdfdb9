// Network: the ports of a Cluster that messages queue at, in the order of their arrival. Owner: one
// simulation; one thread.
//
// A message is forwarded while it still arrives (cut-through): it takes its bytes' share of each
// port's rate, and leaves none before its last byte has come in.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/cluster.h"

namespace thinwire::simulator {

enum class PortKind : std::uint8_t { local, nic_out, leaf_up, leaf_down, nic_in };

struct Port {
  double bytes_per_s = 0;
  double free_s = 0;  // when all that came so far can have left
  double bytes = 0;
  std::int32_t last_from = -1;  // whose message came last
};

// Where a message passes: at most four ports, each followed by a latency.
struct Path {
  std::array<std::int32_t, 4> ports{};
  std::array<double, 4> latency_s{};
  int length = 0;

  void append(std::int32_t port, double latency) {
    ports[static_cast<std::size_t>(length)] = port;
    latency_s[static_cast<std::size_t>(length++)] = latency;
  }
};

class Network {
 public:
  // Ports of the first `hosts` hosts and their racks only; `cluster` outlives this.
  Network(const Cluster& cluster, int hosts);

  // Ranks of the cluster. The message enters at the sender and leaves at `image`, which is where
  // the receiver lies among the hosts that have ports.
  Path path(int sender, int receiver, int image) const;

  Port& port(std::int32_t index) { return ports_[static_cast<std::size_t>(index)]; }
  const Port& busiest(PortKind kind) const;
  // Bytes that left ports of this kind.
  double bytes(PortKind kind) const;

 private:
  std::int32_t index_of(PortKind kind, int item) const;

  const Cluster& cluster_;
  std::vector<Port> ports_;
  std::array<std::int32_t, 6> first_{};  // of each kind, and the end
};

}  // namespace thinwire::simulator
