#include "simulator/cluster.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace thinwire::simulator {

const char* complaint_about(const Cluster& cluster) {
  if (cluster.hosts < 1 || cluster.ranks_per_host < 1 || cluster.hosts > kMaxRanks ||
      cluster.ranks_per_host > kMaxRanks || cluster.ranks() > kMaxRanks || cluster.ranks() < 2) {
    return "ranks must be 2 to 4096";
  }
  if (cluster.rails < 1 || cluster.rails > 64) return "rails must be 1 to 64";
  if (cluster.hosts_per_rack < 0) return "hosts per rack must not be negative";
  if (!(cluster.oversubscription >= 1 && cluster.oversubscription <= 1000)) {
    return "the oversubscription must be 1 to 1000";
  }
  if (!(cluster.fan_in >= 1 && cluster.fan_in <= 10)) return "fan-in must be 1 to 10";
  const Speeds& speeds = cluster.speeds;
  for (const double rate :
       {cluster.rail_bytes_per_s, cluster.local_bytes_per_s, speeds.copy_bytes_per_s,
        speeds.reduce_bytes_per_s, speeds.encode_bytes_per_s, speeds.decode_bytes_per_s}) {
    if (!(rate >= 1)) return "rates must be at least one byte a second";
  }
  for (const double time :
       {cluster.latency_s, cluster.spine_latency_s, cluster.local_latency_s, speeds.message_s}) {
    if (!(time >= 0 && time <= 10)) return "latencies must be 0 to 10 seconds";
  }
  return "";
}

collectives::Layout layout_of(const Cluster& cluster) {
  std::vector<std::uint64_t> hosts;
  std::vector<std::uint64_t> racks;
  for (int rank = 0; rank < cluster.ranks(); ++rank) {
    const int host = cluster.host_of(rank);
    hosts.push_back(static_cast<std::uint64_t>(host));
    racks.push_back(static_cast<std::uint64_t>(cluster.rack_of(host)));
  }
  return collectives::make_layout(hosts, racks);
}

collectives::CostConstants costs_of(const Cluster& cluster) {
  constexpr double kMicrosecond = 1e-6;
  constexpr double kGbyte = 1e9;
  // Of a file of such constants; parse_costs() would take no more.
  const auto bounded = [](double value) { return std::clamp(value, 1e-6, 1e6); };
  const double host_rate = cluster.rail_bytes_per_s * cluster.rails / kGbyte;
  collectives::CostConstants costs = collectives::built_in_costs();
  costs.links = {{{bounded(cluster.local_latency_s / kMicrosecond),
                   bounded(cluster.local_bytes_per_s / kGbyte)},
                  {bounded(cluster.latency_s / kMicrosecond), bounded(host_rate)},
                  {bounded((cluster.latency_s + cluster.spine_latency_s) / kMicrosecond),
                   bounded(host_rate)}}};
  costs.fan_in = cluster.fan_in;
  costs.message_us = bounded(cluster.speeds.message_s / kMicrosecond);
  costs.copy_gbytes_per_s = bounded(cluster.speeds.copy_bytes_per_s / kGbyte);
  costs.reduce_gbytes_per_s = bounded(cluster.speeds.reduce_bytes_per_s / kGbyte);
  costs.codecs.fill({bounded(cluster.speeds.encode_bytes_per_s / kGbyte),
                     bounded(cluster.speeds.decode_bytes_per_s / kGbyte)});
  return costs;
}

}  // namespace thinwire::simulator
