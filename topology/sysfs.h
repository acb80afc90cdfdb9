// Machines as Linux's sysfs shows them: all of one where hwloc is missing, and what hwloc leaves
// out. Any thread; blocks on the file system. `root` is "/sys" but in tests.
#pragma once

#include <string>

#include "topology/topology.h"

namespace thinwire::topology {

// Never fails: what cannot be read is unknown. Cores are those that are online and in `allowed`,
// unless that is empty.
Machine read_sysfs(const std::string& root, const CpuSet& allowed);

// Adds to a running machine: NICs without a PCI device, speeds, the identity of RDMA cards, and
// the links of PCI devices at their best (an idle GPU runs its link slower).
void complete_from_sysfs(const std::string& root, Machine& machine);

// The cores this process may run on. Empty when the system does not say.
CpuSet allowed_cores();

}  // namespace thinwire::topology
