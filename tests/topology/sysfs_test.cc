// The plain reader, on made-up systems.
#include "topology/sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/topology/machines.h"

namespace thinwire::topology {
namespace {

namespace fs = std::filesystem;

// Writes a sysfs of few files.
class FakeSysfs {
 public:
  std::string root() const { return folder_.path(); }

  void put(const std::string& path, const std::string& text) {
    const fs::path file = folder_.path() / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void link(const std::string& path, const std::string& target) {
    const fs::path from = folder_.path() / path;
    fs::create_directories(from.parent_path());
    fs::create_directories(folder_.path() / target);
    fs::create_directory_symlink(folder_.path() / target, from);
  }
  // `path` is below devices/, as "pci0000:00/0000:00:01.0/0000:01:00.0".
  void pci(const std::string& path, const std::map<std::string, std::string>& files) {
    const std::string folder = "devices/" + path;
    for (const auto& [name, text] : files) put(folder + "/" + name, text);
    link("bus/pci/devices/" + path.substr(path.rfind('/') + 1), folder);
  }
  void net(const std::string& name, const std::string& device, const std::string& speed) {
    const std::string folder = "class/net/" + name;
    put(folder + "/type", "1");
    put(folder + "/speed", speed);
    put(folder + "/operstate", "up");
    if (!device.empty()) link(folder + "/device", "devices/" + device);
  }

 private:
  TemporaryFolder folder_;
};

void fill_two_sockets(FakeSysfs& system) {
  system.put("devices/system/cpu/online", "0-7");
  for (int cpu = 0; cpu < 8; ++cpu) {
    system.put("devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id",
               std::to_string(cpu / 4));
  }
  for (const char* node : {"0", "1"}) {
    const std::string folder = std::string("devices/system/node/node") + node;
    system.put(folder + "/cpulist", *node == '0' ? "0-3" : "4-7");
    system.put(folder + "/meminfo", std::string("Node ") + node + " MemTotal:       1024 kB");
  }
}

TEST(Sysfs_PciTree_IsRead, WithDistances) {
  FakeSysfs system;
  fill_two_sockets(system);
  const std::string up = "pci0000:40/0000:40:01.0/0000:41:00.0";
  system.pci("pci0000:40/0000:40:01.0", {{"class", "0x060400"}, {"numa_node", "1"}});
  system.pci(up, {{"class", "0x060400"}, {"numa_node", "1"}});
  system.pci(up + "/0000:42:00.0", {{"class", "0x060400"}, {"numa_node", "1"}});
  system.pci(up + "/0000:42:04.0", {{"class", "0x060400"}, {"numa_node", "1"}});
  system.pci(up + "/0000:42:00.0/0000:43:00.0", {{"class", "0x030200"},
                                                 {"vendor", "0x10de"},
                                                 {"numa_node", "1"},
                                                 {"local_cpulist", "4-7"},
                                                 {"max_link_speed", "16.0 GT/s PCIe"},
                                                 {"max_link_width", "16"}});
  const std::string nic = up + "/0000:42:04.0/0000:44:00.0";
  system.pci(
      nic,
      {{"class", "0x020000"}, {"vendor", "0x15b3"}, {"numa_node", "1"}, {"local_cpulist", "4-7"}});
  system.net("ens1", nic, "100000");
  system.put("class/infiniband/mlx5_0/sys_image_guid", "0c42:a103:0044:0000");
  system.put("class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)");
  system.link("class/infiniband/mlx5_0/device", "devices/" + nic);

  const Topology topology(read_sysfs(system.root(), CpuSet()));
  ASSERT_EQ(topology.gpus().size(), 1u);
  ASSERT_EQ(topology.nics().size(), 1u);
  EXPECT_EQ(topology.nics()[0].name(), "ens1");
  EXPECT_EQ(topology.nics()[0].rdma_name, "mlx5_0");
  EXPECT_EQ(topology.nics()[0].guid, 0x0c42a10300440000u);
  EXPECT_EQ(topology.nics()[0].cores.list(), "4-7");
  EXPECT_EQ(topology.nics()[0].speed_mbps, 100000);
  EXPECT_EQ(topology.distance(topology.gpus()[0], topology.nics()[0]), Distance::pix);
  EXPECT_EQ(topology.pci_of(topology.gpus()[0].pci)->link_width, 16);
  EXPECT_EQ(topology.machine().packages.size(), 2u);
  EXPECT_EQ(topology.machine().numa_nodes[1].memory_bytes, 1024u * 1024);
}

TEST(Sysfs_NoPciAndNoNuma_IsAPoorMachine, WithAllCores) {
  FakeSysfs system;
  system.put("devices/system/cpu/online", "0-3");
  system.net("eth0", "", "-1");
  system.put("class/net/lo/type", "772");
  const Topology topology(read_sysfs(system.root(), CpuSet()));
  ASSERT_EQ(topology.nics().size(), 1u);
  EXPECT_EQ(topology.nics()[0].pci, kNone);
  EXPECT_EQ(topology.nics()[0].numa_node, kNone);
  EXPECT_EQ(topology.nics()[0].speed_mbps, 0);
  EXPECT_EQ(topology.nics()[0].cores.list(), "0-3");
}

TEST(Sysfs_NumaMinusOne_IsUnknown, UnlessThereIsOneNode) {
  FakeSysfs system;
  fill_two_sockets(system);
  system.pci("pci0000:00/0000:00:03.0", {{"class", "0x020000"}, {"numa_node", "-1"}});
  system.net("eth0", "pci0000:00/0000:00:03.0", "10000");
  const Topology two(read_sysfs(system.root(), CpuSet()));
  EXPECT_EQ(two.nics()[0].numa_node, kNone);
  EXPECT_EQ(two.nics()[0].cores.list(), "0-7");
  std::filesystem::remove_all(system.root() + "/devices/system/node/node1");
  const Topology one(read_sysfs(system.root(), CpuSet()));
  EXPECT_EQ(one.nics()[0].numa_node, 0);
}

TEST(Sysfs_Cpuset_LimitsCores, OfNicsToo) {
  FakeSysfs system;
  fill_two_sockets(system);
  system.pci("pci0000:00/0000:00:03.0",
             {{"class", "0x020000"}, {"numa_node", "0"}, {"local_cpulist", "0-3"}});
  system.net("eth0", "pci0000:00/0000:00:03.0", "10000");
  const Topology topology(read_sysfs(system.root(), *CpuSet::from_list("2-5")));
  EXPECT_EQ(topology.machine().cores.list(), "2-5");
  EXPECT_EQ(topology.nics()[0].cores.list(), "2-3");
}

TEST(Sysfs_SoftRoce_JoinsItsInterface, AndEmptySystemIsEmpty) {
  FakeSysfs system;
  system.net("eth0", "", "1000");
  system.put("class/infiniband/rxe0/parent", "eth0");
  const Topology topology(read_sysfs(system.root(), CpuSet()));
  ASSERT_EQ(topology.nics().size(), 1u);
  EXPECT_EQ(topology.find_nic("rxe0"), topology.find_nic("eth0"));
  const FakeSysfs empty;
  EXPECT_TRUE(Topology(read_sysfs(empty.root(), CpuSet())).nics().empty());
}

}  // namespace
}  // namespace thinwire::topology
