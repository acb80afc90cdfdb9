#include "plugin/devices.h"

#include <algorithm>
#include <utility>

#include "base/nccl_abi/types.h"

namespace thinwire::plugin {
namespace {

using topology::Topology;

// "0000:3b:00.0"; "~", behind every address, without a PCI device.
std::string address_of(const NicInfo& nic, const Topology& topology) {
  const topology::Nic* known = topology.find_nic(nic.name);
  const topology::PciDevice* pci = known == nullptr ? nullptr : topology.pci_of(known->pci);
  if (pci != nullptr) return pci->bus_id;
  return nic.pci_path.empty() ? "~" : nic.pci_path.substr(nic.pci_path.rfind('/') + 1);
}

void complete(Device& device, const Topology& topology) {
  const topology::Nic* known = topology.find_nic(device.nic.name);
  if (known == nullptr) return;
  NicInfo& nic = device.nic;
  if (nic.numa_node < 0) nic.numa_node = known->numa_node;
  if (!nic.speed_known && known->speed_mbps > 0) {
    nic.speed_mbps = known->speed_mbps;
    nic.speed_known = true;
  }
  if (known->guid != 0) nic.guid = known->guid;
  device.cores = known->cores;
}

}  // namespace

std::vector<Device> place_devices(std::vector<NicInfo> found, const Topology& topology) {
  std::vector<Device> devices;
  for (NicInfo& nic : found) {
    Device device;
    device.nic = std::move(nic);
    device.transport_index = static_cast<int>(devices.size());
    complete(device, topology);
    devices.push_back(std::move(device));
  }
  std::ranges::stable_sort(devices, {},
                           [&](const Device& device) { return address_of(device.nic, topology); });
  return devices;
}

int memory_types(const NicInfo& nic) {
  return tw_nccl_ptr_host | (nic.peer_memory ? tw_nccl_ptr_cuda : 0) |
         (nic.dmabuf ? tw_nccl_ptr_dmabuf : 0);
}

std::vector<std::string> gpu_lines(const std::vector<Device>& devices, const Topology& topology) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < topology.gpus().size(); ++i) {
    const topology::Gpu& gpu = topology.gpus()[i];
    const int own = topology.nic_for(static_cast<int>(i));
    if (own < 0) continue;
    const topology::Nic& nic = topology.nics()[static_cast<std::size_t>(own)];
    const auto used = std::ranges::find_if(
        devices, [&](const Device& device) { return topology.find_nic(device.nic.name) == &nic; });
    std::string line = "GPU " + gpu.name + ": nearest NIC " + nic.name() + " (" +
                       std::string(name_of(topology.distance(gpu, nic))) + "), ";
    line += used == devices.end() ? "which is not in use"
                                  : "device " + std::to_string(used - devices.begin());
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace thinwire::plugin
