#include "topology/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "topology/pci_facts.h"
#include "topology/rdma.h"

namespace thinwire::topology {
namespace {

// Of nvml.h, whose layout is stable: nvmlPciInfo_t as of *_v3 (bus id twice, short and long).
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};
using Device = struct OpaqueDevice*;
constexpr int kSuccess = 0;
constexpr unsigned kMaxLinks = 18;
constexpr unsigned kIbm = 0x1014;

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    const bool found = find("nvmlInit_v2", init_) && find("nvmlShutdown", shutdown_) &&
                       find("nvmlDeviceGetHandleByPciBusId_v2", handle_by_bus_id) &&
                       find("nvmlDeviceGetIndex", get_index) &&
                       find("nvmlDeviceGetCudaComputeCapability", get_capability) &&
                       find("nvmlDeviceGetNvLinkState", get_link_state) &&
                       find("nvmlDeviceGetNvLinkRemotePciInfo_v2", get_link_remote);
    is_ready_ = found && init_() == kSuccess;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (is_ready_) shutdown_();
  }
  bool is_ready() const { return is_ready_; }

  int (*handle_by_bus_id)(const char*, Device*) = nullptr;
  int (*get_index)(Device, unsigned*) = nullptr;
  int (*get_capability)(Device, int*, int*) = nullptr;
  int (*get_link_state)(Device, unsigned, unsigned*) = nullptr;
  int (*get_link_remote)(Device, unsigned, PciInfo*) = nullptr;

 private:
  struct Unload {
    void operator()(void* library) const { dlclose(library); }
  };
  template <class Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_.get(), name));
    return function != nullptr;
  }

  std::unique_ptr<void, Unload> library_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  bool is_ready_ = false;
};

// One direction, MB/s per link, by generation.
double link_mbytes_s(int compute_capability) {
  if (compute_capability >= 100) return 50000;
  if (compute_capability >= 70) return 25000;
  return 20000;
}

int peer_of(const Machine& machine, const PciInfo& remote) {
  const std::size_t length = strnlen(remote.bus_id, sizeof remote.bus_id);
  const auto bus_id = normalised_bus_id({remote.bus_id, length});
  for (std::size_t i = 0; bus_id && i < machine.gpus.size(); ++i) {
    const int pci = machine.gpus[i].pci;
    if (pci >= 0 && machine.pci[static_cast<std::size_t>(pci)].bus_id == *bus_id) {
      return static_cast<int>(i);
    }
  }
  // Switches may be hidden: in virtual machines their address is made up.
  return kNvSwitch;
}

void read_links(const Nvml& nvml, Device device, int gpu, Machine& machine) {
  const int capability = machine.gpus[static_cast<std::size_t>(gpu)].compute_capability;
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    unsigned is_active = 0;
    PciInfo remote{};
    if (nvml.get_link_state(device, link, &is_active) != kSuccess || is_active == 0) continue;
    if (nvml.get_link_remote(device, link, &remote) != kSuccess) continue;
    // POWER processors have NVLink ports of their own.
    if ((remote.pci_device_id & 0xffff) == kIbm) continue;
    add_nvlink({gpu, peer_of(machine, remote), 1, link_mbytes_s(capability)}, machine);
  }
}

}  // namespace

bool complete_from_nvml(Machine& machine) {
  if (machine.gpus.empty()) return false;
  const Nvml nvml;
  if (!nvml.is_ready()) return false;
  machine.nvlinks.clear();
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    Gpu& gpu = machine.gpus[i];
    Device device = nullptr;
    const std::string& bus_id = machine.pci[static_cast<std::size_t>(gpu.pci)].bus_id;
    if (nvml.handle_by_bus_id(bus_id.c_str(), &device) != kSuccess) continue;
    unsigned index = 0;
    int major = 0;
    int minor = 0;
    if (nvml.get_index(device, &index) == kSuccess) {
      gpu.index = static_cast<int>(index);
      gpu.name = "nvml" + std::to_string(index);
    }
    if (nvml.get_capability(device, &major, &minor) == kSuccess) {
      gpu.compute_capability = 10 * major + minor;
    }
    read_links(nvml, device, static_cast<int>(i), machine);
  }
  return true;
}

}  // namespace thinwire::topology
