#include "topology/cluster_view.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace thinwire::topology {
namespace {

// FNV-1a, 64 bits; every text ends with a zero byte, so that two do not run together.
std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash * kPrime;
}

}  // namespace

ClusterView::ClusterView(std::vector<Group> groups,
                         std::map<std::string, int, std::less<>> leaf_of_host)
    : leaf_of_host_(std::move(leaf_of_host)) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) { return groups[at].name; });
  std::vector<int> moved(groups.size());
  for (std::size_t to = 0; to < order.size(); ++to) moved[order[to]] = static_cast<int>(to);
  for (const std::size_t from : order) {
    Group& group = groups[from];
    if (group.parent >= 0) group.parent = moved[static_cast<std::size_t>(group.parent)];
    groups_.push_back(std::move(group));
  }
  for (auto& [host, leaf] : leaf_of_host_) leaf = moved[static_cast<std::size_t>(leaf)];
}

std::optional<int> ClusterView::leaf_of(std::string_view host) const {
  auto found = leaf_of_host_.find(host);
  if (found == leaf_of_host_.end()) found = leaf_of_host_.find(host.substr(0, host.find('.')));
  if (found == leaf_of_host_.end()) return std::nullopt;
  return found->second;
}

std::vector<int> ClusterView::path_of(std::string_view host) const {
  std::vector<int> path;
  for (int at = leaf_of(host).value_or(-1); at >= 0;
       at = groups_[static_cast<std::size_t>(at)].parent) {
    path.push_back(at);
  }
  return path;
}

std::optional<int> ClusterView::switches_between(std::string_view a, std::string_view b) const {
  const std::vector<int> up = path_of(a);
  const std::vector<int> down = path_of(b);
  for (std::size_t i = 0; i < up.size(); ++i) {
    const auto common = std::ranges::find(down, up[i]);
    if (common == down.end()) continue;
    return static_cast<int>(i) + static_cast<int>(common - down.begin()) + 1;
  }
  return std::nullopt;
}

std::uint64_t ClusterView::digest() const {
  if (empty()) return 0;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Group& group : groups_) {
    hash = mixed(hash, group.name);
    hash = mixed(hash, group.parent < 0 ? std::string_view()
                                        : groups_[static_cast<std::size_t>(group.parent)].name);
  }
  for (const auto& [host, leaf] : leaf_of_host_) {
    hash = mixed(hash, host);
    hash = mixed(hash, groups_[static_cast<std::size_t>(leaf)].name);
  }
  return hash;
}

}  // namespace thinwire::topology
