#include "collectives/layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace thinwire::collectives {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// The number of `id`: the known one, or the next.
int number_of(std::map<std::uint64_t, int>& numbers, std::uint64_t id) {
  return numbers.try_emplace(id, static_cast<int>(numbers.size())).first->second;
}

void complete(Layout& layout) {
  layout.order.resize(layout.host_of.size());
  std::iota(layout.order.begin(), layout.order.end(), 0);
  std::sort(layout.order.begin(), layout.order.end(), [&](int a, int b) {
    const int host_a = layout.host(a);
    const int host_b = layout.host(b);
    return std::tuple(layout.rack_of[at(host_a)], host_a, a) <
           std::tuple(layout.rack_of[at(host_b)], host_b, b);
  });
  layout.position.resize(layout.order.size());
  std::vector<int> ranks_on(layout.rack_of.size());
  for (std::size_t i = 0; i < layout.order.size(); ++i) {
    layout.position[at(layout.order[i])] = static_cast<int>(i);
    layout.largest_host =
        std::max(layout.largest_host, ++ranks_on[at(layout.host(layout.order[i]))]);
    layout.widest = std::max(layout.widest, layout.level(layout.order[0], layout.order[i]));
  }
}

}  // namespace

int Layout::level(int rank, int other) const {
  const int a = host(rank);
  const int b = host(other);
  if (a == b) return kWithinHost;
  return rack_of[at(a)] == rack_of[at(b)] ? kBetweenHosts : kBetweenRacks;
}

Layout flat_layout(int ranks) {
  Layout layout;
  layout.host_of.resize(at(ranks));
  std::iota(layout.host_of.begin(), layout.host_of.end(), 0);
  layout.rack_of.assign(at(ranks), 0);
  complete(layout);
  return layout;
}

Layout make_layout(std::span<const std::uint64_t> host_ids,
                   std::span<const std::uint64_t> rack_ids) {
  Layout layout;
  std::map<std::uint64_t, int> hosts;
  std::map<std::uint64_t, int> racks;
  for (std::size_t rank = 0; rank < host_ids.size(); ++rank) {
    const int host = number_of(hosts, host_ids[rank]);
    layout.host_of.push_back(host);
    if (host < layout.hosts()) continue;
    layout.rack_of.push_back(rack_ids.empty() ? 0 : number_of(racks, rack_ids[rank]));
  }
  complete(layout);
  return layout;
}

}  // namespace thinwire::collectives
