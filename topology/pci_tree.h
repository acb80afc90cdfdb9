// The PCI devices of a Topology as far as they matter to distances. Pure; any thread.
#pragma once

#include <map>
#include <vector>

#include "topology/topology.h"

namespace thinwire::topology {

// NICs, GPUs and those bridges at which paths to them part, as indexes into Machine::pci.
struct PciTree {
  std::map<int, std::vector<int>> roots;     // by NUMA node, kNone where it is unknown
  std::map<int, std::vector<int>> children;  // by bridge
};

// `roots` has every NUMA node with cores or devices, also devices without PCI address.
PciTree pci_tree_of(const Topology& topology);

}  // namespace thinwire::topology
