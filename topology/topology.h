// Topology: what one machine is made of and how far its parts are apart. An immutable value.
//
// Readers (discover.h) fill a Machine; Topology completes and orders it and answers questions.
// Pure; any thread. Whatever a machine hides is said to be unknown, never guessed: -1 for a NUMA
// node, 0 for a speed, an empty set of cores never (then it is all of them).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/nic_info.h"
#include "topology/cpu_set.h"

namespace thinwire::topology {

struct Package {
  int os_index = 0;
  std::string model;
  CpuSet cores;
};

struct NumaNode {
  int os_index = 0;  // the operating system's number, as NicInfo::numa_node
  CpuSet cores;      // may be empty: memory only
  std::uint64_t memory_bytes = 0;
};

inline constexpr int kNone = -1;

// A PCI function or bridge that a NIC, a GPU or an NVSwitch is or hangs from.
struct PciDevice {
  std::string bus_id;          // "0000:3b:00.0"
  std::uint32_t class_id = 0;  // 24 bits, as sysfs has it: 0x020000
  std::uint32_t vendor = 0;    // 0: unknown
  std::uint32_t device = 0;
  std::uint32_t subsystem_vendor = 0;
  std::uint32_t subsystem_device = 0;
  int parent = kNone;       // index of the bridge above; kNone below the host bridge
  int host_bridge = kNone;  // number of the host bridge, equal for all that hang from it
  int numa_node = kNone;
  double link_gts = 0;  // transfers per second and lane, in 10^9; 0: unknown
  int link_width = 0;   // lanes; 0: unknown
  std::string name;
};

struct Nic {
  std::string net_name;   // "eth0"; "" for RDMA only
  std::string rdma_name;  // "mlx5_0"; "" without RDMA
  int pci = kNone;
  int numa_node = kNone;
  CpuSet cores;            // the nearest
  int speed_mbps = 0;      // 0: unknown
  std::uint64_t guid = 0;  // equal for the ports and functions of one card; 0: unknown
  RailIds ids{};           // as the user names them (rails.h)
  const std::string& name() const { return net_name.empty() ? rdma_name : net_name; }
};

struct Gpu {
  std::string name;  // "nvml0", "cuda0", or the bus id
  std::string model;
  int pci = kNone;
  int numa_node = kNone;
  CpuSet cores;
  int index = kNone;           // NVML's number; kNone: unknown
  int compute_capability = 0;  // 90 for 9.0; 0: unknown
  int nvlink_domain = kNone;   // equal for GPUs that reach one another over NVLink
};

inline constexpr int kNvSwitch = -1;
// The links of one GPU to one other, or to the switches (peer kNvSwitch). Both directions of a
// pair have an entry of their own.
struct NvLink {
  int gpu = 0;
  int peer = kNvSwitch;
  int links = 0;        // 0: unknown
  double mbytes_s = 0;  // all of them together, one direction; 0: unknown
};

// How a GPU reaches a NIC, nearest first; in NCCL's and nvidia-smi's words.
enum class Distance : std::uint8_t {
  pix,      // one PCI switch, or one slot
  pxb,      // several PCI switches, no host bridge
  phb,      // through the host bridge
  node,     // several host bridges of one NUMA node
  sys,      // between NUMA nodes
  unknown,  // the machine does not say
};
std::string_view name_of(Distance distance);

enum class Source : std::uint8_t { hwloc, hwloc_xml, synthetic, sysfs };
std::string_view name_of(Source source);

// What readers fill in. `pci` may hold devices in any order and more than is needed.
struct Machine {
  Source source = Source::sysfs;
  std::string host;
  std::string architecture;  // "x86_64", "aarch64", "ppc64le"; "" unknown
  std::string cpu_vendor;    // "GenuineIntel", "AuthenticAMD"
  int cpu_family = 0;
  int cpu_model = 0;
  CpuSet cores;  // those this process may use
  std::vector<Package> packages;
  std::vector<NumaNode> numa_nodes;
  std::vector<PciDevice> pci;
  std::vector<Nic> nics;
  std::vector<Gpu> gpus;
  std::vector<NvLink> nvlinks;
  bool has_nvswitch = false;
};

class Topology {
 public:
  Topology() : Topology(Machine()) {}
  // Indexes within `machine` must be valid or kNone, and PCI parents form no loop.
  explicit Topology(Machine machine);

  const Machine& machine() const { return machine_; }
  const std::vector<Nic>& nics() const { return machine_.nics; }  // by PCI address, then by name
  const std::vector<Gpu>& gpus() const { return machine_.gpus; }
  const PciDevice* pci_of(int index) const;
  const NumaNode* numa_node(int os_index) const;

  // By network or RDMA name; null when there is none.
  const Nic* find_nic(std::string_view name) const;

  Distance distance(const Gpu& gpu, const Nic& nic) const;

  // Indexes of the NICs nearest to the GPU: of the smallest distance, and of these the fastest.
  std::vector<int> nearest_nics(const Gpu& gpu) const;
  // One NIC for the GPU: those nearest are shared out among the GPUs that are equally near, in
  // order. kNone without NICs, or when there is no such GPU.
  int nic_for(int gpu) const;

 private:
  std::vector<int> bridges_above(int pci) const;

  Machine machine_;
};

}  // namespace thinwire::topology
