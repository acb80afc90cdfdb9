#include "topology/machine_builder.h"

#include <cstdlib>
#include <utility>

#include "topology/pci_facts.h"

namespace thinwire::topology {
namespace {

int integer(const std::string& text) {
  return static_cast<int>(std::strtol(text.c_str(), nullptr, 10));
}

}  // namespace

void MachineBuilder::add_root(const CpuSet& cores, const Info& info) {
  machine_.cores = cores;
  machine_.architecture = info("Architecture");
  machine_.host = info("HostName");
}

void MachineBuilder::add_package(int os_index, const Place& place, const Info& info) {
  // All of it is withheld from this process.
  if (place.cores.empty()) return;
  machine_.packages.push_back({os_index, info("CPUModel"), place.cores});
  machine_.cpu_vendor = info("CPUVendor");
  machine_.cpu_family = integer(info("CPUFamilyNumber"));
  machine_.cpu_model = integer(info("CPUModelNumber"));
}

void MachineBuilder::add_numa_node(int os_index, const Place& place, std::uint64_t memory_bytes) {
  machine_.numa_nodes.push_back({os_index, place.cores, memory_bytes});
}

void MachineBuilder::add_pci(PciDevice device, double gbytes_s, std::uint64_t key, Place& place,
                             const Info& info) {
  device.parent = place.pci;
  device.host_bridge = place.host_bridge;
  device.numa_node = place.numa_node;
  device.name = info("PCIDevice");
  set_link(gbytes_s, device);
  place.pci = static_cast<int>(machine_.pci.size());
  if (is_nvidia_gpu(device)) {
    Gpu gpu;
    gpu.name = device.bus_id;
    gpu.model = device.name;
    gpu.pci = place.pci;
    gpu.numa_node = place.numa_node;
    gpu.cores = place.cores;
    gpu_of_pci_[place.pci] = static_cast<int>(machine_.gpus.size());
    machine_.gpus.push_back(std::move(gpu));
  }
  if (is_nvswitch(device)) {
    ends_[key] = kNvSwitch;
    machine_.has_nvswitch = true;
  }
  machine_.pci.push_back(std::move(device));
}

void MachineBuilder::add_os_device(OsDevice kind, const std::string& name, std::uint64_t key,
                                   const Place& place, const Info& info) {
  if (kind == OsDevice::gpu) return name_gpu(name, key, place, info);
  if (kind == OsDevice::other || name.empty() || name == "lo") return;
  const int speed_mbps = integer(info("SpeedMbps"));
  if (kind == OsDevice::openfabrics) {
    rdma_.push_back({.name = name,
                     .net_name = {},
                     .pci = place.pci,
                     .numa_node = place.numa_node,
                     .cores = place.cores,
                     .speed_mbps = speed_mbps,
                     .guid = guid_value(info("SysImageGUID"))});
    return;
  }
  Nic nic;
  nic.net_name = name;
  nic.pci = place.pci;
  nic.numa_node = place.numa_node;
  nic.cores = place.cores;
  nic.speed_mbps = speed_mbps;
  machine_.nics.push_back(std::move(nic));
}

void MachineBuilder::name_gpu(const std::string& name, std::uint64_t key, const Place& place,
                              const Info& info) {
  const auto found = gpu_of_pci_.find(place.pci);
  if (found == gpu_of_pci_.end()) return;
  ends_[key] = found->second;
  Gpu& gpu = machine_.gpus[static_cast<std::size_t>(found->second)];
  std::string model = info("GPUModel");
  if (!model.empty()) gpu.model = std::move(model);
  if (!name.starts_with("nvml")) return;
  gpu.name = name;
  gpu.index = integer(name.substr(4));
}

void MachineBuilder::add_nvlink(std::uint64_t from, std::uint64_t to, double mbytes_s) {
  const auto gpu = ends_.find(from);
  const auto peer = ends_.find(to);
  if (gpu == ends_.end() || peer == ends_.end() || gpu->second == peer->second) return;
  if (gpu->second == kNvSwitch || !(mbytes_s > 0)) return;
  topology::add_nvlink({gpu->second, peer->second, 0, mbytes_s}, machine_);
}

}  // namespace thinwire::topology
