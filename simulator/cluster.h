// Cluster: the machines and the network that a simulation runs on. A value; any thread.
//
// Every host has `rails` NICs; a rank uses the one of its index on the host, modulo rails. Racks
// hang on one leaf switch each; leaves are joined by a spine whose capacity, per leaf, is what the
// leaf's hosts can send divided by the oversubscription. Switches forward without loss and without
// a limit to their queues.
#pragma once

#include <array>
#include <limits>

#include "collectives/cost_constants.h"
#include "collectives/layout.h"

namespace thinwire::simulator {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// What one rank's one thread takes. Rates are in bytes of elements a second.
struct Speeds {
  double message_s = 0;  // per message, at the sender and again at the receiver
  double copy_bytes_per_s = kUnlimited;
  double reduce_bytes_per_s = kUnlimited;
  double encode_bytes_per_s = kUnlimited;
  double decode_bytes_per_s = kUnlimited;  // with or without adding
};

struct Cluster {
  int hosts = 2;
  int ranks_per_host = 1;
  int rails = 1;
  int hosts_per_rack = 0;  // 0: all hosts in one rack
  bool cyclic = false;     // rank r on host r mod hosts; else r / ranks_per_host
  double oversubscription = 1;
  // How much longer a NIC takes for a message that had to wait behind another sender's.
  double fan_in = 1;
  double rail_bytes_per_s = 12.5e9;   // what is left for payload, each direction
  double local_bytes_per_s = 12.5e9;  // one rank to others of its host
  double latency_s = 0;               // one way between two hosts of a rack
  double spine_latency_s = 0;         // what the spine adds to that
  double local_latency_s = 0;         // within a host
  Speeds speeds;

  int ranks() const { return hosts * ranks_per_host; }
  int racks() const {
    return hosts_per_rack == 0 ? 1 : (hosts + hosts_per_rack - 1) / hosts_per_rack;
  }
  int host_of(int rank) const { return cyclic ? rank % hosts : rank / ranks_per_host; }
  int rail_of(int rank) const { return (cyclic ? rank / hosts : rank % ranks_per_host) % rails; }
  int rack_of(int host) const { return hosts_per_rack == 0 ? 0 : host / hosts_per_rack; }
};

// What is out of range, and the range; "": nothing. At most kMaxRanks ranks.
inline constexpr int kMaxRanks = 4096;
const char* complaint_about(const Cluster& cluster);

// Where the ranks are, as the ranks themselves would agree.
collectives::Layout layout_of(const Cluster& cluster);

// What the cost model is told of it; every codec is as fast as `speeds` says.
collectives::CostConstants costs_of(const Cluster& cluster);

}  // namespace thinwire::simulator
