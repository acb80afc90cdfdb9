#include <algorithm>
#include <cstdio>
#include <vector>

#include "topology/nccl_topology.h"
#include "topology/pci_facts.h"
#include "topology/pci_tree.h"

namespace thinwire::topology {
namespace {

std::string hex(std::uint32_t value, int digits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%0*x", digits, value);
  return text;
}

// NCCL's names; it must have one, so an unknown architecture is this program's own.
std::string nccl_architecture(const std::string& name) {
  if (name == "aarch64" || name == "arm64") return "arm64";
  if (name.starts_with("ppc64")) return "ppc64";
  if (name == "x86_64") return name;
#if defined(__aarch64__)
  return "arm64";
#elif defined(__powerpc64__)
  return "ppc64";
#else
  return "x86_64";
#endif
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    // NCCL replaces no references, so what would need one cannot be in a name.
    if (c != '"' && c != '<' && c != '>' && c != '&' && c != '\'' && c >= ' ') out += c;
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const Topology& topology) : topology_(topology), tree_(pci_tree_of(topology)) {}

  std::string run() {
    out_ = "<system version=\"1\">\n";
    for (const auto& [node, roots] : tree_.roots) write_cpu(node, roots);
    out_ += "</system>\n";
    return std::move(out_);
  }

 private:
  const PciDevice& at(int index) const {
    return topology_.machine().pci[static_cast<std::size_t>(index)];
  }

  CpuSet cores_of(int node) const {
    const NumaNode* known = topology_.numa_node(node);
    return known == nullptr ? topology_.machine().cores : known->cores;
  }

  void write_cpu(int node, const std::vector<int>& roots) {
    const Machine& machine = topology_.machine();
    out_ += "  <cpu numaid=\"" + std::to_string(node) + "\" affinity=\"" + cores_of(node).mask() +
            "\" arch=\"" + nccl_architecture(machine.architecture) + "\"";
    if (!machine.cpu_vendor.empty()) {
      out_ += " vendor=\"" + escaped(machine.cpu_vendor) + "\" familyid=\"" +
              std::to_string(machine.cpu_family) + "\" modelid=\"" +
              std::to_string(machine.cpu_model) + "\"";
    }
    out_ += ">\n";
    for (const int root : roots) write_pci(root, 4);
    write_nics(kNone, node, 4);
    out_ += "  </cpu>\n";
  }

  void write_pci(int index, std::size_t indent) {
    const PciDevice& device = at(index);
    const std::string margin(indent, ' ');
    out_ +=
        margin + "<pci busid=\"" + device.bus_id + "\" class=\"" + hex(class_of(index), 6) + "\"";
    if (device.vendor != 0) {
      out_ += " vendor=\"" + hex(device.vendor, 4) + "\" device=\"" + hex(device.device, 4) +
              "\" subsystem_vendor=\"" + hex(device.subsystem_vendor, 4) +
              "\" subsystem_device=\"" + hex(device.subsystem_device, 4) + "\"";
    }
    if (device.link_gts > 0) {
      out_ += " link_speed=\"" + link_speed_text(device.link_gts) + "\" link_width=\"" +
              std::to_string(device.link_width) + "\"";
    }
    const bool is_nic =
        std::ranges::any_of(topology_.nics(), [index](const Nic& nic) { return nic.pci == index; });
    const auto children = tree_.children.find(index);
    if (!is_nic && children == tree_.children.end()) {
      out_ += "/>\n";
      return;
    }
    out_ += ">\n";
    if (children != tree_.children.end()) {
      for (const int child : children->second) write_pci(child, indent + 2);
    }
    if (is_nic) write_nics(index, kNone, indent + 2);
    out_ += margin + "</pci>\n";
  }

  // NCCL walks below bridges only, and what has no known class it takes for one.
  std::uint32_t class_of(int index) const {
    return tree_.children.contains(index) ? 0x060400 : at(index).class_id;
  }

  // Those of a PCI function, or those of a NUMA node without one.
  void write_nics(int pci_index, int node, std::size_t indent) {
    const std::string margin(indent, ' ');
    std::string nets;
    for (const Nic& nic : topology_.nics()) {
      const bool here =
          pci_index >= 0 ? nic.pci == pci_index : nic.pci < 0 && nic.numa_node == node;
      if (!here) continue;
      for (const std::string& name : {nic.net_name, nic.rdma_name}) {
        if (name.empty() || name_is_written(nets, name)) continue;
        nets += margin + "  <net name=\"" + escaped(name) + "\"";
        if (nic.speed_mbps > 0) nets += " speed=\"" + std::to_string(nic.speed_mbps) + "\"";
        nets += "/>\n";
      }
    }
    if (!nets.empty()) out_ += margin + "<nic>\n" + nets + margin + "</nic>\n";
  }

  static bool name_is_written(const std::string& nets, const std::string& name) {
    return nets.find("name=\"" + escaped(name) + "\"") != std::string::npos;
  }

  const Topology& topology_;
  const PciTree tree_;
  std::string out_;
};

}  // namespace

std::string nccl_xml_of(const Topology& topology) { return Writer(topology).run(); }

}  // namespace thinwire::topology
