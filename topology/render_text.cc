#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "topology/render.h"

namespace thinwire::topology {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

__attribute__((format(printf, 2, 3))) void add(std::string& out, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  out += line;
}

std::string numa_text(int node) { return node < 0 ? "?" : std::to_string(node); }

std::string address(const Topology& topology, int pci) {
  const PciDevice* device = topology.pci_of(pci);
  return device == nullptr ? "no PCI device" : device->bus_id;
}

void add_processors(const Topology& topology, std::string& out) {
  const Machine& machine = topology.machine();
  add(out, "machine%s%s: %s%s, %zu of its CPUs usable here, known from %s\n",
      machine.host.empty() ? "" : " ", machine.host.c_str(),
      machine.architecture.empty() ? "unknown architecture" : machine.architecture.c_str(),
      machine.cpu_vendor.empty() ? "" : (", " + machine.cpu_vendor).c_str(), machine.cores.count(),
      std::string(name_of(machine.source)).c_str());
  for (const Package& package : machine.packages) {
    add(out, "package %d: CPUs %s%s%s\n", package.os_index, package.cores.list().c_str(),
        package.model.empty() ? "" : ", ", package.model.c_str());
  }
  for (const NumaNode& node : machine.numa_nodes) {
    add(out, "NUMA node %d: CPUs %s, %.1f GiB\n", node.os_index,
        node.cores.empty() ? "none" : node.cores.list().c_str(),
        static_cast<double>(node.memory_bytes) / kGiB);
  }
}

void add_nics(const Topology& topology, std::string& out) {
  for (const Nic& nic : topology.nics()) {
    add(out, "NIC %s", nic.name().c_str());
    if (!nic.net_name.empty() && !nic.rdma_name.empty()) add(out, " (%s)", nic.rdma_name.c_str());
    add(out, ": %s, NUMA %s, nearest CPUs %s", address(topology, nic.pci).c_str(),
        numa_text(nic.numa_node).c_str(), nic.cores.list().c_str());
    if (nic.speed_mbps > 0) add(out, ", %d Mbit/s", nic.speed_mbps);
    if (nic.guid != 0) add(out, ", card %llx", static_cast<unsigned long long>(nic.guid));
    out += text_of(nic.ids) + "\n";
  }
  if (topology.nics().empty()) out += "no NICs\n";
}

void add_gpus(const Topology& topology, std::string& out) {
  for (std::size_t i = 0; i < topology.gpus().size(); ++i) {
    const Gpu& gpu = topology.gpus()[i];
    const int nic = topology.nic_for(static_cast<int>(i));
    add(out, "GPU %zu %s: %s, NUMA %s", i, gpu.name.c_str(), address(topology, gpu.pci).c_str(),
        numa_text(gpu.numa_node).c_str());
    if (!gpu.model.empty()) add(out, ", %s", gpu.model.c_str());
    if (gpu.nvlink_domain >= 0) add(out, ", NVLink domain %d", gpu.nvlink_domain);
    if (nic >= 0) {
      add(out, ", uses %s", topology.nics()[static_cast<std::size_t>(nic)].name().c_str());
    }
    out += "\n";
  }
}

void add_nvlinks(const Topology& topology, std::string& out) {
  const Machine& machine = topology.machine();
  for (const NvLink& link : machine.nvlinks) {
    const std::string peer =
        link.peer == kNvSwitch ? "NVSwitch" : "GPU " + std::to_string(link.peer);
    add(out, "NVLink GPU %d to %s: %.0f GB/s", link.gpu, peer.c_str(), link.mbytes_s / 1000);
    if (link.links > 0) add(out, " over %d links", link.links);
    out += "\n";
  }
  if (machine.has_nvswitch && machine.nvlinks.empty()) out += "NVSwitch without known links\n";
}

void add_distances(const Topology& topology, std::string& out) {
  if (topology.gpus().empty() || topology.nics().empty()) return;
  out += "\n       ";
  for (const Nic& nic : topology.nics()) add(out, " %12s", nic.name().c_str());
  out += "\n";
  for (std::size_t i = 0; i < topology.gpus().size(); ++i) {
    const Gpu& gpu = topology.gpus()[i];
    const int own = topology.nic_for(static_cast<int>(i));
    add(out, "GPU %-3zu", i);
    for (std::size_t n = 0; n < topology.nics().size(); ++n) {
      std::string cell(static_cast<int>(n) == own ? "*" : "");
      cell += name_of(topology.distance(gpu, topology.nics()[n]));
      add(out, " %12s", cell.c_str());
    }
    out += "\n";
  }
  out +=
      "* the GPU's own NIC. PIX: one PCI switch. PXB: several. PHB: the host bridge. NODE: host\n"
      "bridges of one NUMA node. SYS: another NUMA node. ?: the machine does not say.\n";
}

}  // namespace

std::string text_of(const Topology& topology) {
  std::string out;
  add_processors(topology, out);
  add_nics(topology, out);
  add_gpus(topology, out);
  add_nvlinks(topology, out);
  add_distances(topology, out);
  return out;
}

}  // namespace thinwire::topology
