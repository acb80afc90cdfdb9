#include "topology/pci_tree.h"

namespace thinwire::topology {
namespace {

class Builder {
 public:
  explicit Builder(const Topology& topology)
      : topology_(topology),
        branches_(topology.machine().pci.size(), 0),
        is_endpoint_(branches_.size(), false),
        numa_node_(branches_.size(), kNone) {
    for (const Nic& nic : topology.nics()) mark(nic.pci, nic.numa_node);
    for (const Gpu& gpu : topology.gpus()) mark(gpu.pci, gpu.numa_node);
    for (const PciDevice& device : pci()) {
      if (device.parent >= 0) ++branches_[static_cast<std::size_t>(device.parent)];
    }
  }

  PciTree run() {
    for (const NumaNode& node : topology_.machine().numa_nodes) {
      if (!node.cores.empty()) tree_.roots[node.os_index];
    }
    for (std::size_t i = 0; i < pci().size(); ++i) {
      if (!is_endpoint_[i] && branches_[i] < 2) continue;
      const int parent = parent_of(i);
      auto& group = parent >= 0 ? tree_.children[parent] : tree_.roots[numa_node_[i]];
      group.push_back(static_cast<int>(i));
    }
    for (const Nic& nic : topology_.nics()) {
      if (nic.pci < 0) tree_.roots[nic.numa_node];
    }
    return std::move(tree_);
  }

 private:
  const std::vector<PciDevice>& pci() const { return topology_.machine().pci; }

  // A bridge belongs to the NUMA node of what is below it.
  void mark(int index, int numa_node) {
    if (index >= 0) is_endpoint_[static_cast<std::size_t>(index)] = true;
    for (; index >= 0; index = pci()[static_cast<std::size_t>(index)].parent) {
      numa_node_[static_cast<std::size_t>(index)] = numa_node;
    }
  }

  int parent_of(std::size_t index) const {
    int above = pci()[index].parent;
    while (above >= 0 && branches_[static_cast<std::size_t>(above)] < 2) {
      above = pci()[static_cast<std::size_t>(above)].parent;
    }
    return above;
  }

  const Topology& topology_;
  std::vector<int> branches_;
  std::vector<bool> is_endpoint_;
  std::vector<int> numa_node_;
  PciTree tree_;
};

}  // namespace

PciTree pci_tree_of(const Topology& topology) { return Builder(topology).run(); }

}  // namespace thinwire::topology
