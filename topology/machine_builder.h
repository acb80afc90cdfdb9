// Fills a Machine from hwloc's objects, whoever reads them. Owner: one reading; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/rdma.h"
#include "topology/topology.h"

namespace thinwire::topology {

// Where in a machine an object hangs: what its ancestors say.
struct Place {
  int pci = kNone;
  int host_bridge = kNone;
  int numa_node = kNone;
  CpuSet cores;
};

class MachineBuilder {
 public:
  // The value of an object's info attribute, "" without it; in hwloc's names.
  using Info = std::function<std::string(const char* name)>;
  enum class OsDevice : std::uint8_t { network, openfabrics, gpu, other };

  explicit MachineBuilder(Machine& machine) : machine_(machine) {}

  void add_root(const CpuSet& cores, const Info& info);
  void add_package(int os_index, const Place& place, const Info& info);
  void add_numa_node(int os_index, const Place& place, std::uint64_t memory_bytes);
  // These two become part of the place of what hangs from them. `key` identifies the object for
  // add_nvlink(); `gbytes_s` as set_link() takes it.
  void add_host_bridge(Place& place) { place.host_bridge = host_bridges_++; }
  void add_pci(PciDevice device, double gbytes_s, std::uint64_t key, Place& place,
               const Info& info);
  void add_os_device(OsDevice kind, const std::string& name, std::uint64_t key, const Place& place,
                     const Info& info);
  // Ignored unless it leads from a GPU to another one or to a switch.
  void add_nvlink(std::uint64_t from, std::uint64_t to, double mbytes_s);
  // Once, after everything else.
  void finish() { attach_rdma(rdma_, machine_); }

 private:
  void name_gpu(const std::string& name, std::uint64_t key, const Place& place, const Info& info);

  Machine& machine_;
  int host_bridges_ = 0;
  std::vector<RdmaDevice> rdma_;
  std::unordered_map<int, int> gpu_of_pci_;
  std::unordered_map<std::uint64_t, int> ends_;  // GPUs by their index, or kNvSwitch
};

}  // namespace thinwire::topology
