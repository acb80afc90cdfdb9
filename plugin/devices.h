// The devices as NCCL sees them: those of the transport, in the order of the machine, with what its
// Topology knows of them. Values; pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/nic_info.h"
#include "topology/topology.h"

namespace thinwire::plugin {

struct Device {
  NicInfo nic;
  int transport_index = 0;  // in the transport's own order
  topology::CpuSet cores;   // the nearest; empty: unknown
  // Of one that was made of others (DeviceTable): their indices. Empty: one of the transport's.
  std::vector<int> members;
};

// By PCI address, so that equal hosts number their rails alike whatever the kernel's order; devices
// without one come last, in the transport's order. Speed and NUMA node are filled in where the
// transport knows none, and the guid is that of the card.
std::vector<Device> place_devices(std::vector<NicInfo> found, const topology::Topology& topology);

// NCCL's NCCL_PTR_ values of the memory that it moves point to point, together. CollNet stays with
// host memory: NCCL stages for it.
int memory_types(const NicInfo& nic);

// Per GPU of the machine, one line: which device is its own and how far that is. For the log.
std::vector<std::string> gpu_lines(const std::vector<Device>& devices,
                                   const topology::Topology& topology);

}  // namespace thinwire::plugin
