// Where a Topology comes from. Any thread; blocks while the system is read (milliseconds to a few
// seconds on large machines).
#pragma once

#include <string>

#include "base/log.h"
#include "base/status.h"
#include "topology/topology.h"

namespace thinwire::topology {

struct DiscoverOptions {
  std::string xml_file;             // hwloc XML; "": not from a file
  std::string synthetic;            // hwloc synthetic description; "": none
  std::string sysfs_root = "/sys";  // another one in tests
  bool use_hwloc = true;            // false: the plain sysfs reader
  bool use_nvml = true;             // false: NVLinks are not looked for
};

// A file or description that cannot be used is logged (file, line where known) and fails with
// Code::invalid_config. The running machine itself always has a Topology, if a poor one; a missing
// hwloc is said at level info. Loads hwloc and NVML, and unloads them.
Result<Topology> discover(const DiscoverOptions& options, const Log& log);

}  // namespace thinwire::topology
