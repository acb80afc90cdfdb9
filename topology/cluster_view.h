// ClusterView: which hosts share a leaf switch or rack, and what lies above. An immutable value.
//
// Built from the file that THINWIRE_CLUSTER_FILE names (cluster_file.h); pure, any thread. An empty
// view knows no host: then nothing is to be concluded about any two hosts. Ranks compare digest()
// before they rely on it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thinwire::topology {

class ClusterView {
 public:
  // A switch, rack, row or whatever the file calls a group. Its parent is -1 at the top.
  struct Group {
    std::string name;
    int parent = -1;
  };

  ClusterView() = default;
  // `leaf_of_host` indexes `groups`; parents form no loop.
  ClusterView(std::vector<Group> groups, std::map<std::string, int, std::less<>> leaf_of_host);

  bool empty() const { return leaf_of_host_.empty(); }
  std::size_t hosts() const { return leaf_of_host_.size(); }
  const std::vector<Group>& groups() const { return groups_; }
  const std::map<std::string, int, std::less<>>& leaves() const { return leaf_of_host_; }

  // The group that holds the host itself: equal for two hosts on one leaf switch. A name that the
  // file lacks is tried without its domain ("node1.example.org" as "node1"). nullopt: unknown.
  std::optional<int> leaf_of(std::string_view host) const;

  // Groups from the leaf up to the top, indexes into groups(); empty for an unknown host.
  std::vector<int> path_of(std::string_view host) const;

  // Switches that a message passes: 1 within a leaf, 3 over a common parent, 5 over its parent...
  // nullopt when a host is unknown or nothing connects the two.
  std::optional<int> switches_between(std::string_view a, std::string_view b) const;

  // Equal for equal views, whatever the format and order of the file. 0 for an empty one.
  std::uint64_t digest() const;

 private:
  std::vector<Group> groups_;  // by name, so that indexes are equal on all ranks
  std::map<std::string, int, std::less<>> leaf_of_host_;
};

}  // namespace thinwire::topology
