// Bringing together what readers find apart: RDMA devices and their network interfaces, the NVLinks
// of a pair. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/topology.h"

namespace thinwire::topology {

struct RdmaDevice {
  std::string name;
  std::string net_name;  // the interface it stands on, where that is known (Soft-RoCE)
  int pci = kNone;
  int numa_node = kNone;
  CpuSet cores;
  int speed_mbps = 0;
  std::uint64_t guid = 0;  // sys_image_guid: of the card
};

// A device joins the NICs of its PCI function or of its interface; without any it is a NIC itself.
void attach_rdma(const std::vector<RdmaDevice>& devices, Machine& machine);

// Adds to the links of the same pair.
void add_nvlink(const NvLink& link, Machine& machine);

}  // namespace thinwire::topology
