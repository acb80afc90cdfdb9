#include "topology/sysfs.h"

#include <sched.h>
#include <sys/utsname.h>

#include <map>
#include <optional>

#include "topology/pci_facts.h"
#include "topology/rdma.h"
#include "topology/sysfs_files.h"

namespace thinwire::topology {
namespace {

namespace fs = std::filesystem;

// The N of "nodeN"; nullopt for anything else.
std::optional<int> number_after(const std::string& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  int value = 0;
  const char* begin = name.data() + prefix.size();
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

CpuSet cores_in(const fs::path& path) {
  return CpuSet::from_list(sysfs_line(path)).value_or(CpuSet());
}

// "Node 0 MemTotal:       16384 kB"
std::uint64_t memory_of(const fs::path& node) {
  std::ifstream file(node / "meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t kbytes = 0;
    if (word == "MemTotal:" && file >> kbytes) return kbytes * 1024;
  }
  return 0;
}

void read_numa_nodes(const fs::path& root, Machine& machine) {
  const fs::path folder = root / "devices" / "system" / "node";
  for (const std::string& name : sysfs_names(folder)) {
    const auto number = number_after(name, "node");
    if (!number) continue;
    machine.numa_nodes.push_back(
        {*number, cores_in(folder / name / "cpulist") & machine.cores, memory_of(folder / name)});
  }
}

void read_packages(const fs::path& root, Machine& machine) {
  std::map<long, CpuSet> packages;
  for (const std::size_t cpu : machine.cores.cpus()) {
    const fs::path topology =
        root / "devices" / "system" / "cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    packages[sysfs_number(topology / "physical_package_id", 0)].add(cpu);
  }
  for (const auto& [number, cores] : packages) {
    machine.packages.push_back({static_cast<int>(number), {}, cores});
  }
}

double best_link_gts(const fs::path& device) {
  // "16.0 GT/s PCIe"
  double gts = 0;
  std::ifstream(device / "max_link_speed") >> gts;
  return gts;
}

void read_link(const fs::path& device, PciDevice& out) {
  const double gts = best_link_gts(device);
  const long lanes = sysfs_number(device / "max_link_width", 0);
  // 255 is what the kernel says of devices without a link.
  if (gts <= 0 || lanes <= 0 || lanes > 32) return;
  out.link_gts = gts;
  out.link_width = static_cast<int>(lanes);
}

// PCI devices by the folders they live in.
class PciReader {
 public:
  PciReader(const fs::path& root, Machine& machine) : machine_(machine) {
    const fs::path folder = root / "bus" / "pci" / "devices";
    for (const std::string& name : sysfs_names(folder)) {
      const fs::path path = sysfs_target(folder / name);
      const auto bus_id = normalised_bus_id(name);
      if (path.empty() || !bus_id) continue;
      index_of_[path.string()] = static_cast<int>(machine_.pci.size());
      paths_.push_back(path);
      machine_.pci.push_back(read(path, *bus_id));
    }
    for (std::size_t i = 0; i < paths_.size(); ++i) connect(i);
    for (std::size_t i = 0; i < paths_.size(); ++i) add_gpu(static_cast<int>(i));
  }

 private:
  static PciDevice read(const fs::path& path, const std::string& bus_id) {
    const auto number = [&](const char* file) {
      return static_cast<std::uint32_t>(sysfs_number(path / file, 0));
    };
    PciDevice device;
    device.bus_id = bus_id;
    device.class_id = number("class");
    device.vendor = number("vendor");
    device.device = number("device");
    device.subsystem_vendor = number("subsystem_vendor");
    device.subsystem_device = number("subsystem_device");
    device.numa_node = static_cast<int>(sysfs_number(path / "numa_node", kNone));
    read_link(path, device);
    return device;
  }

  void connect(std::size_t index) {
    PciDevice& device = machine_.pci[index];
    const fs::path above = paths_[index].parent_path();
    if (const auto bridge = index_of_.find(above.string()); bridge != index_of_.end()) {
      device.parent = bridge->second;
    }
    // The first folder below which everything is PCI: "pci0000:00".
    fs::path host = above;
    while (normalised_bus_id(host.filename().string())) host = host.parent_path();
    device.host_bridge =
        host_bridges_.emplace(host.string(), static_cast<int>(host_bridges_.size())).first->second;
  }

  void add_gpu(int index) {
    const PciDevice& device = machine_.pci[static_cast<std::size_t>(index)];
    machine_.has_nvswitch |= is_nvswitch(device);
    if (!is_nvidia_gpu(device)) return;
    Gpu gpu;
    gpu.name = device.bus_id;
    gpu.pci = index;
    gpu.cores = cores_in(paths_[static_cast<std::size_t>(index)] / "local_cpulist");
    machine_.gpus.push_back(std::move(gpu));
  }

  Machine& machine_;
  std::vector<fs::path> paths_;
  std::map<std::string, int> index_of_;
  std::map<std::string, int> host_bridges_;
};

// The PCI function a class device stands on; kNone without one.
int pci_below(const fs::path& device, const Machine& machine) {
  for (fs::path path = sysfs_target(device); path.has_relative_path(); path = path.parent_path()) {
    const auto bus_id = normalised_bus_id(path.filename().string());
    if (!bus_id) continue;
    for (std::size_t i = 0; i < machine.pci.size(); ++i) {
      if (machine.pci[i].bus_id == *bus_id) return static_cast<int>(i);
    }
    return kNone;
  }
  return kNone;
}

bool is_network_device(const fs::path& net) {
  // ARPHRD_ETHER and ARPHRD_INFINIBAND: neither loopback nor tunnels.
  const long type = sysfs_number(net / "type", 0);
  if ((type != 1 && type != 32) || !sysfs_target(net / "bridge").empty()) return false;
  // Without a device it is virtual, and of interest only when it is in use.
  return !sysfs_target(net / "device").empty() || sysfs_line(net / "operstate") != "down";
}

void read_nics(const fs::path& root, Machine& machine) {
  for (const std::string& name : sysfs_names(root / "class" / "net")) {
    const fs::path net = root / "class" / "net" / name;
    if (!is_network_device(net)) continue;
    auto known = std::ranges::find(machine.nics, name, &Nic::net_name);
    if (known == machine.nics.end()) {
      Nic nic;
      nic.net_name = name;
      nic.pci = pci_below(net / "device", machine);
      nic.numa_node = static_cast<int>(sysfs_number(net / "device" / "numa_node", kNone));
      nic.cores = cores_in(net / "device" / "local_cpulist");
      known = machine.nics.insert(machine.nics.end(), std::move(nic));
    }
    const long speed = sysfs_number(net / "speed", 0);
    if (speed > 0) known->speed_mbps = static_cast<int>(speed);
  }
}

// "200 Gb/sec (4X HDR)"
int rdma_speed_mbps(const fs::path& device) {
  double gbits = 0;
  std::ifstream(device / "ports" / "1" / "rate") >> gbits;
  return static_cast<int>(gbits * 1000);
}

std::vector<RdmaDevice> read_rdma(const fs::path& root, const Machine& machine) {
  std::vector<RdmaDevice> devices;
  for (const std::string& name : sysfs_names(root / "class" / "infiniband")) {
    const fs::path path = root / "class" / "infiniband" / name;
    devices.push_back(
        {.name = name,
         .net_name = sysfs_line(path / "parent"),
         .pci = pci_below(path / "device", machine),
         .numa_node = static_cast<int>(sysfs_number(path / "device" / "numa_node", kNone)),
         .cores = cores_in(path / "device" / "local_cpulist"),
         .speed_mbps = rdma_speed_mbps(path),
         .guid = guid_value(sysfs_line(path / "sys_image_guid"))});
  }
  return devices;
}

void drop_rdma_only(Machine& machine) {
  // They come again, with more, from sysfs.
  std::erase_if(machine.nics, [](const Nic& nic) { return nic.net_name.empty(); });
}

}  // namespace

CpuSet allowed_cores() {
  // Room for more than cpu_set_t's 1024.
  constexpr int kMost = 8192;
  cpu_set_t* set = CPU_ALLOC(kMost);
  CpuSet cores;
  if (set == nullptr) return cores;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMost);
  CPU_ZERO_S(bytes, set);
  if (sched_getaffinity(0, bytes, set) == 0) {
    for (std::size_t cpu = 0; cpu < kMost; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cores.add(cpu);
    }
  }
  CPU_FREE(set);
  return cores;
}

Machine read_sysfs(const std::string& root, const CpuSet& allowed) {
  Machine machine;
  machine.source = Source::sysfs;
  utsname names{};
  if (uname(&names) == 0) {
    machine.host = names.nodename;
    machine.architecture = names.machine;
  }
  machine.cores = cores_in(fs::path(root) / "devices" / "system" / "cpu" / "online");
  if (machine.cores.empty()) machine.cores = allowed;
  if (!allowed.empty()) machine.cores = machine.cores & allowed;
  read_numa_nodes(root, machine);
  read_packages(root, machine);
  const PciReader pci(root, machine);  // reads as it is made
  complete_from_sysfs(root, machine);
  return machine;
}

void complete_from_sysfs(const std::string& root, Machine& machine) {
  for (PciDevice& device : machine.pci) {
    read_link(fs::path(root) / "bus" / "pci" / "devices" / device.bus_id, device);
  }
  const std::vector<RdmaDevice> rdma = read_rdma(root, machine);
  if (!rdma.empty()) drop_rdma_only(machine);
  read_nics(root, machine);
  attach_rdma(rdma, machine);
}

}  // namespace thinwire::topology
