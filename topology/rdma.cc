#include "topology/rdma.h"

#include <algorithm>

namespace thinwire::topology {

void attach_rdma(const std::vector<RdmaDevice>& devices, Machine& machine) {
  for (const RdmaDevice& device : devices) {
    bool attached = false;
    for (Nic& nic : machine.nics) {
      const bool same_function = device.pci >= 0 && nic.pci == device.pci;
      const bool same_interface = !device.net_name.empty() && nic.net_name == device.net_name;
      if (nic.net_name.empty() || !(same_function || same_interface)) continue;
      if (!nic.rdma_name.empty() && nic.rdma_name != device.name) continue;
      nic.rdma_name = device.name;
      nic.guid = device.guid;
      if (nic.speed_mbps == 0) nic.speed_mbps = device.speed_mbps;
      attached = true;
    }
    if (attached) continue;
    machine.nics.push_back({.net_name = {},
                            .rdma_name = device.name,
                            .pci = device.pci,
                            .numa_node = device.numa_node,
                            .cores = device.cores,
                            .speed_mbps = device.speed_mbps,
                            .guid = device.guid});
  }
}

void add_nvlink(const NvLink& link, Machine& machine) {
  const auto same = std::ranges::find_if(machine.nvlinks, [&](const NvLink& each) {
    return each.gpu == link.gpu && each.peer == link.peer;
  });
  if (same == machine.nvlinks.end()) {
    machine.nvlinks.push_back(link);
    return;
  }
  same->links += link.links;
  same->mbytes_s += link.mbytes_s;
}

}  // namespace thinwire::topology
