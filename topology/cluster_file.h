// The cluster file (THINWIRE_CLUSTER_FILE): read into a ClusterView. Any thread; reading blocks on
// the file system.
#pragma once

#include <string>
#include <string_view>

#include "base/log.h"
#include "base/status.h"
#include "topology/cluster_view.h"

namespace thinwire::topology {

// Two formats, told apart by the first line that is not empty. Slurm's topology.conf:
//   SwitchName=leaf1 Nodes=node[1-4,7]       (LinkSpeed= is ignored)
//   SwitchName=spine Switches=leaf[1-2]
// and our own, in which a name that no line defines is a host:
//   leaf1: node[1-4,7]
//   spine: leaf[1-2]
// # begins a comment, a trailing \ continues a line, keywords are case-insensitive. A malformed
// line, a host or group named twice, an undefined switch, or groups that contain one another are
// logged as "FILE:LINE: what" and fail with Code::invalid_config. `name` is for those messages.
// Source: Slurm's topology.conf(5).
Result<ClusterView> parse_cluster_text(std::string_view text, const std::string& name,
                                       const Log& log);

// Reads a regular file of at most 4 MiB; else the same failure. An empty path is an empty view.
Result<ClusterView> read_cluster_file(const std::string& path, const Log& log);

}  // namespace thinwire::topology
