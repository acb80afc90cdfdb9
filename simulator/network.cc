#include "simulator/network.h"

#include <algorithm>

namespace thinwire::simulator {

Network::Network(const Cluster& cluster, int hosts) : cluster_(cluster) {
  const int nics = hosts * cluster.rails;
  const int racks = cluster.racks() == 1 ? 0 : cluster.rack_of(hosts - 1) + 1;
  const double leaf =
      cluster.rail_bytes_per_s * cluster.rails * cluster.hosts_per_rack / cluster.oversubscription;
  const auto add = [&](PortKind kind, int count, double rate) {
    ports_.insert(ports_.end(), static_cast<std::size_t>(count), {.bytes_per_s = rate});
    first_[static_cast<std::size_t>(kind) + 1] = static_cast<std::int32_t>(ports_.size());
  };
  add(PortKind::local, hosts * cluster.ranks_per_host, cluster.local_bytes_per_s);
  add(PortKind::nic_out, nics, cluster.rail_bytes_per_s);
  add(PortKind::leaf_up, racks, leaf);
  add(PortKind::leaf_down, racks, leaf);
  add(PortKind::nic_in, nics, cluster.rail_bytes_per_s);
}

std::int32_t Network::index_of(PortKind kind, int item) const {
  return first_[static_cast<std::size_t>(kind)] + item;
}

Path Network::path(int sender, int receiver, int image) const {
  Path path;
  const int from = cluster_.host_of(sender);
  const int to = cluster_.host_of(receiver);
  if (from == to) {
    path.append(index_of(PortKind::local, sender), cluster_.local_latency_s);
    return path;
  }
  const int image_host = cluster_.host_of(image);
  const std::int32_t out =
      index_of(PortKind::nic_out, from * cluster_.rails + cluster_.rail_of(sender));
  const std::int32_t in =
      index_of(PortKind::nic_in, image_host * cluster_.rails + cluster_.rail_of(image));
  if (cluster_.rack_of(from) == cluster_.rack_of(to)) {
    path.append(out, cluster_.latency_s);
  } else {
    path.append(out, cluster_.latency_s / 2);
    path.append(index_of(PortKind::leaf_up, cluster_.rack_of(from)), cluster_.spine_latency_s);
    path.append(index_of(PortKind::leaf_down, cluster_.rack_of(image_host)),
                cluster_.latency_s / 2);
  }
  path.append(in, 0);
  return path;
}

const Port& Network::busiest(PortKind kind) const {
  static constexpr Port kNone;
  const auto begin = ports_.begin() + first_[static_cast<std::size_t>(kind)];
  const auto end = ports_.begin() + first_[static_cast<std::size_t>(kind) + 1];
  const auto most =
      std::max_element(begin, end, [](const Port& a, const Port& b) { return a.bytes < b.bytes; });
  return most == end ? kNone : *most;
}

double Network::bytes(PortKind kind) const {
  double sum = 0;
  for (std::int32_t i = index_of(kind, 0); i < first_[static_cast<std::size_t>(kind) + 1]; ++i) {
    sum += ports_[static_cast<std::size_t>(i)].bytes;
  }
  return sum;
}

}  // namespace thinwire::simulator
