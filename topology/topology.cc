#include "topology/topology.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace thinwire::topology {
namespace {

const PciDevice& at(const Machine& machine, int index) {
  return machine.pci[static_cast<std::size_t>(index)];
}

// The devices' order by PCI address, as old index by new index, without what nothing hangs from.
std::vector<int> kept_pci(const Machine& machine) {
  std::vector<bool> needed(machine.pci.size(), false);
  const auto mark = [&](int index) {
    for (; index >= 0 && !needed[static_cast<std::size_t>(index)];
         index = at(machine, index).parent) {
      needed[static_cast<std::size_t>(index)] = true;
    }
  };
  for (const Nic& nic : machine.nics) mark(nic.pci);
  for (const Gpu& gpu : machine.gpus) mark(gpu.pci);
  std::vector<int> order;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) order.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(order, {}, [&](int index) { return at(machine, index).bus_id; });
  return order;
}

void sort_pci(Machine& machine) {
  const std::vector<int> order = kept_pci(machine);
  std::vector<int> moved(machine.pci.size(), kNone);
  std::vector<PciDevice> sorted;
  for (const int from : order) {
    moved[static_cast<std::size_t>(from)] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(machine.pci[static_cast<std::size_t>(from)]));
  }
  const auto move = [&](int& index) {
    if (index >= 0) index = moved[static_cast<std::size_t>(index)];
  };
  for (PciDevice& device : sorted) move(device.parent);
  for (Nic& nic : machine.nics) move(nic.pci);
  for (Gpu& gpu : machine.gpus) move(gpu.pci);
  machine.pci = std::move(sorted);
}

// The only NUMA node with cores; kNone when there are several or none.
int only_node(const Machine& machine) {
  int only = kNone;
  for (const NumaNode& node : machine.numa_nodes) {
    // Nodes of the same cores are memory of two kinds.
    const NumaNode* known = nullptr;
    for (const NumaNode& each : machine.numa_nodes) {
      if (each.os_index == only) known = &each;
    }
    if (node.cores.empty() || (known != nullptr && known->cores == node.cores)) continue;
    if (known != nullptr) return kNone;
    only = node.os_index;
  }
  return only;
}

// A device without a NUMA node of its own has that of the bridges above, or of a machine with one.
int numa_node_of(const Machine& machine, int own, int pci) {
  for (; own < 0 && pci >= 0; pci = at(machine, pci).parent) own = at(machine, pci).numa_node;
  return own < 0 ? only_node(machine) : own;
}

// Never empty where the machine has cores at all.
CpuSet nearest_cores(const Machine& machine, const CpuSet& said, int numa_node) {
  CpuSet usable = said & machine.cores;
  if (!usable.empty()) return usable;
  for (const NumaNode& node : machine.numa_nodes) {
    if (node.os_index == numa_node) usable = node.cores & machine.cores;
  }
  return usable.empty() ? machine.cores : usable;
}

template <class Device>
void place(Machine& machine, std::vector<Device>& devices) {
  for (Device& device : devices) {
    device.numa_node = numa_node_of(machine, device.numa_node, device.pci);
    device.cores = nearest_cores(machine, device.cores, device.numa_node);
  }
}

std::string address_of(const Machine& machine, int pci) {
  return pci < 0 ? std::string("~") : at(machine, pci).bus_id;  // ~: behind every address
}

std::uint64_t chip_of(const std::string& bus_id) {
  std::uint64_t chip = 0;
  for (const char c : bus_id.substr(0, bus_id.rfind('.'))) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit != std::string_view::npos) chip = chip << 4 | digit;
  }
  return chip;
}

void complete_nics(Machine& machine) {
  std::ranges::stable_sort(machine.nics, {}, [&](const Nic& nic) {
    return std::tuple(address_of(machine, nic.pci), nic.name());
  });
  place(machine, machine.nics);
  for (Nic& nic : machine.nics) {
    if (nic.guid == 0 && nic.pci >= 0) nic.guid = chip_of(at(machine, nic.pci).bus_id);
  }
}

// Sorted by PCI address; the links follow.
void sort_gpus(Machine& machine) {
  std::vector<std::size_t> order(machine.gpus.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::tuple(address_of(machine, machine.gpus[i].pci), machine.gpus[i].name);
  });
  std::vector<int> moved(order.size());
  std::vector<Gpu> sorted;
  for (const std::size_t from : order) {
    moved[from] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(machine.gpus[from]));
  }
  machine.gpus = std::move(sorted);
  for (NvLink& link : machine.nvlinks) {
    link.gpu = moved[static_cast<std::size_t>(link.gpu)];
    if (link.peer >= 0) link.peer = moved[static_cast<std::size_t>(link.peer)];
  }
  std::ranges::sort(machine.nvlinks, {},
                    [](const NvLink& link) { return std::pair(link.gpu, link.peer); });
}

// Domains are numbered by their lowest GPU. All switches of a machine are one fabric.
void find_nvlink_domains(Machine& machine) {
  std::vector<int> lowest(machine.gpus.size() + 1);  // the last one: the switches
  std::iota(lowest.begin(), lowest.end(), 0);
  const auto root = [&](int i) {
    while (lowest[static_cast<std::size_t>(i)] != i) i = lowest[static_cast<std::size_t>(i)];
    return i;
  };
  const int switches = static_cast<int>(machine.gpus.size());
  for (const NvLink& link : machine.nvlinks) {
    const int a = root(link.gpu);
    const int b = root(link.peer == kNvSwitch ? switches : link.peer);
    lowest[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    machine.has_nvswitch |= link.peer == kNvSwitch;
  }
  std::vector<int> number(lowest.size(), kNone);
  int next = 0;
  for (const NvLink& link : machine.nvlinks) {
    int& domain = number[static_cast<std::size_t>(root(link.gpu))];
    if (domain == kNone) domain = next++;
    machine.gpus[static_cast<std::size_t>(link.gpu)].nvlink_domain = domain;
    if (link.peer >= 0) machine.gpus[static_cast<std::size_t>(link.peer)].nvlink_domain = domain;
  }
}

}  // namespace

std::string_view name_of(Distance distance) {
  switch (distance) {
    case Distance::pix:
      return "PIX";
    case Distance::pxb:
      return "PXB";
    case Distance::phb:
      return "PHB";
    case Distance::node:
      return "NODE";
    case Distance::sys:
      return "SYS";
    case Distance::unknown:
      break;
  }
  return "?";
}

std::string_view name_of(Source source) {
  switch (source) {
    case Source::hwloc:
      return "hwloc";
    case Source::hwloc_xml:
      return "hwloc XML";
    case Source::synthetic:
      return "hwloc synthetic description";
    case Source::sysfs:
      break;
  }
  return "sysfs";
}

Topology::Topology(Machine machine) : machine_(std::move(machine)) {
  sort_pci(machine_);
  std::ranges::stable_sort(machine_.numa_nodes, {}, &NumaNode::os_index);
  std::ranges::stable_sort(machine_.packages, {}, &Package::os_index);
  complete_nics(machine_);
  sort_gpus(machine_);
  place(machine_, machine_.gpus);
  find_nvlink_domains(machine_);
}

const PciDevice* Topology::pci_of(int index) const {
  const auto count = static_cast<int>(machine_.pci.size());
  return index < 0 || index >= count ? nullptr : &at(machine_, index);
}

const NumaNode* Topology::numa_node(int os_index) const {
  const auto found = std::ranges::find(machine_.numa_nodes, os_index, &NumaNode::os_index);
  return found == machine_.numa_nodes.end() ? nullptr : &*found;
}

const Nic* Topology::find_nic(std::string_view name) const {
  const auto found = std::ranges::find_if(machine_.nics, [name](const Nic& nic) {
    return !name.empty() && (nic.net_name == name || nic.rdma_name == name);
  });
  return found == machine_.nics.end() ? nullptr : &*found;
}

std::vector<int> Topology::bridges_above(int pci) const {
  std::vector<int> path;
  for (int index = at(machine_, pci).parent; index >= 0; index = at(machine_, index).parent) {
    path.push_back(index);
  }
  return path;
}

Distance Topology::distance(const Gpu& gpu, const Nic& nic) const {
  if (gpu.pci >= 0 && nic.pci >= 0) {
    const std::vector<int> of_gpu = bridges_above(gpu.pci);
    const std::vector<int> of_nic = bridges_above(nic.pci);
    for (std::size_t up = 0; up < of_gpu.size(); ++up) {
      const auto common = std::ranges::find(of_nic, of_gpu[up]);
      if (common == of_nic.end()) continue;
      // A switch is an upstream bridge with a downstream bridge for each device.
      return up <= 1 && common - of_nic.begin() <= 1 ? Distance::pix : Distance::pxb;
    }
    const int bridge = at(machine_, gpu.pci).host_bridge;
    if (bridge >= 0 && bridge == at(machine_, nic.pci).host_bridge) return Distance::phb;
  }
  if (gpu.numa_node < 0 || nic.numa_node < 0) return Distance::unknown;
  return gpu.numa_node == nic.numa_node ? Distance::node : Distance::sys;
}

std::vector<int> Topology::nearest_nics(const Gpu& gpu) const {
  std::vector<int> nearest;
  std::optional<std::pair<Distance, int>> best;
  for (std::size_t i = 0; i < machine_.nics.size(); ++i) {
    const Nic& nic = machine_.nics[i];
    const std::pair rank(distance(gpu, nic), -nic.speed_mbps);
    if (!best || rank < *best) nearest.clear();
    if (!best || rank <= *best) {
      best = rank;
      nearest.push_back(static_cast<int>(i));
    }
  }
  return nearest;
}

int Topology::nic_for(int gpu) const {
  if (gpu < 0 || gpu >= static_cast<int>(machine_.gpus.size())) return kNone;
  const std::vector<int> nearest = nearest_nics(machine_.gpus[static_cast<std::size_t>(gpu)]);
  if (nearest.empty()) return kNone;
  // Position among the GPUs that have the same choice.
  std::size_t position = 0;
  for (int other = 0; other < gpu; ++other) {
    if (nearest_nics(machine_.gpus[static_cast<std::size_t>(other)]) == nearest) ++position;
  }
  return nearest[position % nearest.size()];
}

}  // namespace thinwire::topology
