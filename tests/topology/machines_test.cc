// Described machines, read by the real hwloc.
#include "tests/topology/machines.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "topology/hwloc_machine.h"
#include "topology/render.h"

namespace thinwire::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using thinwire::testing::CapturedLog;

bool hwloc_is_missing() {
  const auto machine = read_with_hwloc(HwlocInput::synthetic, "pu:1");
  return !machine.ok() && machine.status().code() == Code::system_error;
}

// What only hwloc itself can do.
class Hwloc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (hwloc_is_missing()) GTEST_SKIP() << "no hwloc";
  }
};

constexpr const char* kMachines[] = {"dgx_a100",     "dgx_a100_half", "dgx_h100", "pcie_server",
                                     "grace_hopper", "cloud_vm",      "tcp_host"};

std::string text_of_file(const std::string& path) {
  std::ostringstream whole;
  whole << std::ifstream(path).rdbuf();
  return whole.str();
}

std::vector<std::string> own_nics(const Topology& topology) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < topology.gpus().size(); ++i) {
    const int nic = topology.nic_for(static_cast<int>(i));
    names.push_back(nic < 0 ? "" : topology.nics()[static_cast<std::size_t>(nic)].name());
  }
  return names;
}

Distance between(const Topology& topology, std::size_t gpu, const char* nic) {
  const Nic* found = topology.find_nic(nic);
  EXPECT_NE(found, nullptr) << nic;
  return found == nullptr ? Distance::unknown : topology.distance(topology.gpus()[gpu], *found);
}

TEST(Machines, DgxA100_GpusAndNics_ShareSwitches) {
  const Topology topology = load_machine("dgx_a100");
  EXPECT_EQ(topology.machine().packages.size(), 2u);
  EXPECT_EQ(topology.machine().numa_nodes.size(), 8u);
  EXPECT_EQ(topology.machine().cores.count(), 256u);
  ASSERT_EQ(topology.gpus().size(), 8u);
  EXPECT_EQ(topology.nics().size(), 10u);
  EXPECT_THAT(own_nics(topology), ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_6",
                                              "mlx5_7", "mlx5_8", "mlx5_9"));
  EXPECT_EQ(between(topology, 0, "mlx5_0"), Distance::pix);
  EXPECT_EQ(between(topology, 0, "mlx5_2"), Distance::sys);
  EXPECT_EQ(topology.gpus()[0].numa_node, 3);
  EXPECT_EQ(topology.find_nic("mlx5_0")->cores.list(), "48-63,176-191");
}

TEST(Machines, DgxA100_NvSwitch_MakesOneDomain) {
  const Topology topology = load_machine("dgx_a100");
  EXPECT_TRUE(topology.machine().has_nvswitch);
  ASSERT_EQ(topology.machine().nvlinks.size(), 8u);
  for (const NvLink& link : topology.machine().nvlinks) {
    EXPECT_EQ(link.peer, kNvSwitch);
    EXPECT_DOUBLE_EQ(link.mbytes_s, 300000);
  }
  for (const Gpu& gpu : topology.gpus()) EXPECT_EQ(gpu.nvlink_domain, 0);
}

TEST(Machines, TwoPortsOfOneCard_HaveOneGuid_AndBothNames) {
  const Topology topology = load_machine("dgx_a100");
  const Nic* first = topology.find_nic("enp97s0f0");
  const Nic* second = topology.find_nic("mlx5_5");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_NE(first, second);
  EXPECT_EQ(first->guid, second->guid);
  EXPECT_EQ(first->rdma_name, "mlx5_4");
  EXPECT_NE(first->guid, topology.find_nic("mlx5_0")->guid);
}

TEST(Machines, RestrictedCpuset_LimitsCores_ToThoseAllowed) {
  const Topology topology = load_machine("dgx_a100_half");
  EXPECT_EQ(topology.machine().cores.list(), "64-127,192-255");
  EXPECT_EQ(topology.find_nic("mlx5_8")->cores.list(), "80-95,208-223");
  // Its own cores are withheld: any of those left is as near.
  EXPECT_EQ(topology.find_nic("mlx5_0")->cores.list(), "64-127,192-255");
}

TEST(Machines, DgxH100_EveryGpu_HasItsOwnNic) {
  const Topology topology = load_machine("dgx_h100");
  ASSERT_EQ(topology.gpus().size(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(between(topology, i, ("mlx5_" + std::to_string(i)).c_str()), Distance::pix);
  }
  EXPECT_EQ(between(topology, 0, "mlx5_1"), Distance::node);
  EXPECT_EQ(between(topology, 0, "mlx5_7"), Distance::sys);
  EXPECT_THAT(topology.nics()[0].speed_mbps, 400000);
}

TEST(Machines, PcieServer_PairsOfGpus_AreTwoNvlinkDomains) {
  const Topology topology = load_machine("pcie_server");
  ASSERT_EQ(topology.gpus().size(), 4u);
  EXPECT_FALSE(topology.machine().has_nvswitch);
  EXPECT_EQ(topology.gpus()[0].nvlink_domain, topology.gpus()[1].nvlink_domain);
  EXPECT_EQ(topology.gpus()[2].nvlink_domain, topology.gpus()[3].nvlink_domain);
  EXPECT_NE(topology.gpus()[0].nvlink_domain, topology.gpus()[2].nvlink_domain);
  EXPECT_EQ(between(topology, 0, "eno1"), Distance::phb);
  EXPECT_EQ(between(topology, 2, "mlx5_0"), Distance::phb);
  EXPECT_EQ(between(topology, 3, "mlx5_0"), Distance::node);
  // The two GPUs that are equally far from both ports share them out.
  EXPECT_EQ(topology.nearest_nics(topology.gpus()[3]).size(), 2u);
}

TEST(Machines, GraceHopper_GpuMemory_IsNoSecondPlace) {
  const Topology topology = load_machine("grace_hopper");
  EXPECT_EQ(topology.machine().architecture, "aarch64");
  EXPECT_EQ(topology.machine().numa_nodes.size(), 2u);
  ASSERT_EQ(topology.gpus().size(), 1u);
  EXPECT_EQ(topology.gpus()[0].numa_node, 0);
  EXPECT_THAT(own_nics(topology), ElementsAre("ibp1s0"));
}

TEST(Machines, CloudVm_HiddenPci_IsUnknownNotGuessed) {
  const Topology topology = load_machine("cloud_vm");
  ASSERT_EQ(topology.gpus().size(), 4u);
  EXPECT_EQ(topology.gpus()[0].numa_node, kNone);
  EXPECT_EQ(between(topology, 0, "mlx5_0"), Distance::unknown);
  const Nic* net = topology.find_nic("eth0");
  ASSERT_NE(net, nullptr);
  EXPECT_EQ(net->pci, kNone);
  EXPECT_EQ(net->cores.count(), 24u);
  EXPECT_THAT(own_nics(topology), ElementsAre("mlx5_0", "mlx5_1", "mlx5_0", "mlx5_1"));
}

TEST(Machines, TcpHost_NicsWithoutGpus_AreNearTheirCores) {
  const Topology topology = load_machine("tcp_host");
  ASSERT_EQ(topology.nics().size(), 2u);
  EXPECT_EQ(topology.nics()[0].name(), "ens1");
  EXPECT_EQ(topology.nics()[0].cores.list(), "0-3,8-11");
  EXPECT_EQ(topology.nics()[1].cores.list(), "4-7,12-15");
  EXPECT_EQ(topology.nics()[1].numa_node, 1);
  EXPECT_EQ(topology.nics()[1].speed_mbps, 20000);
}

TEST(Machines, Pictures_OfEveryMachine_NameItsParts) {
  for (const char* name : kMachines) {
    const Topology topology = load_machine(name);
    const std::string text = text_of(topology);
    const std::string svg = svg_of(topology);
    EXPECT_THAT(svg, ::testing::StartsWith("<svg ")) << name;
    EXPECT_THAT(svg, ::testing::EndsWith("</svg>\n")) << name;
    for (const Nic& nic : topology.nics()) {
      EXPECT_THAT(text, HasSubstr("NIC " + nic.name())) << name;
      EXPECT_THAT(svg, HasSubstr(nic.name())) << name;
    }
  }
}

TEST_F(Hwloc, EveryMachine_ReadByHwlocItself_IsTheSame) {
  for (const char* name : kMachines) {
    const auto machine = read_with_hwloc(HwlocInput::xml, text_of_file(machine_file(name)));
    ASSERT_TRUE(machine.ok()) << name << ": " << machine.status().text();
    EXPECT_EQ(text_of(Topology(machine.value())), text_of(load_machine(name)));
  }
}

TEST_F(Hwloc, SyntheticDescription_HasItsParts_ButNoDevices) {
  const CapturedLog log;
  DiscoverOptions options;
  options.synthetic = "package:2 [numa] core:4 pu:2";
  const auto topology = discover(options, log.log());
  ASSERT_TRUE(topology.ok()) << log.text();
  EXPECT_EQ(topology.value().machine().packages.size(), 2u);
  EXPECT_EQ(topology.value().machine().numa_nodes.size(), 2u);
  EXPECT_EQ(topology.value().machine().cores.count(), 16u);
  EXPECT_TRUE(topology.value().nics().empty());
  EXPECT_EQ(topology.value().nic_for(0), kNone);
}

TEST_F(Hwloc, MalformedDescription_IsRefused_ByName) {
  const CapturedLog log;
  DiscoverOptions options;
  options.synthetic = "packet:two";
  const auto topology = discover(options, log.log());
  ASSERT_FALSE(topology.ok());
  EXPECT_EQ(topology.status().code(), Code::invalid_config);
  EXPECT_THAT(log.text(), HasSubstr("packet:two"));
}

std::string refusal_of(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "machine.xml";
  std::ofstream(path) << text;
  const CapturedLog log;
  DiscoverOptions options;
  options.xml_file = path;
  const auto topology = discover(options, log.log());
  EXPECT_FALSE(topology.ok()) << text;
  EXPECT_EQ(topology.status().code(), Code::invalid_config);
  EXPECT_THAT(log.text(), HasSubstr("machine.xml"));
  return log.text();
}

TEST(HwlocXml, MalformedFile_IsRefused_WithFileAndLine) {
  EXPECT_THAT(refusal_of("<topology>\n<object>\n</topology>\n"),
              HasSubstr("machine.xml:3: </topology> where <object> of line 2 is open"));
  EXPECT_THAT(refusal_of("<topology>\n"), HasSubstr("machine.xml:2: <topology> of line 1"));
  EXPECT_THAT(refusal_of("<system version=\"1\"/>"), HasSubstr("NCCL_TOPO_FILE"));
  EXPECT_THAT(refusal_of(""), HasSubstr("machine.xml:1: there is no element"));
  EXPECT_THAT(refusal_of("core dumped"), HasSubstr("machine.xml:1:"));
  EXPECT_THAT(refusal_of("<topology version=\"2.0\"></topology>"), HasSubstr("no <object"));
  const std::string machine = "<topology>\n<object type=\"Machine\" cpuset=\"0x3\">\n";
  EXPECT_THAT(refusal_of("<topology><object type=\"Machine\"/></topology>"),
              HasSubstr("no processor"));
  EXPECT_THAT(refusal_of("<topology><object type=\"Machine\" cpuset=\"0xf...f\"/></topology>"),
              HasSubstr("must be a bitmap"));
  EXPECT_THAT(refusal_of(machine + "<object type=\"PCIDev\"/>\n</object></topology>"),
              HasSubstr("machine.xml:3: <object pci_busid=\"\">: must be a PCI address"));
  EXPECT_THAT(refusal_of(machine + "<object type=\"NUMANode\" os_index=\"x\"/>\n"
                                   "</object></topology>"),
              HasSubstr("machine.xml:3: <object os_index=\"x\">: must be a whole number"));
  EXPECT_THAT(refusal_of(machine + "</object>\n<distances2 name=\"NVLinkBandwidth\">\n"
                                   "<indexes>1 2</indexes></distances2></topology>"),
              HasSubstr("machine.xml:4: <distances2> has 2 indexes and 0 values"));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<object>\n";
  EXPECT_THAT(refusal_of(deep), HasSubstr("nest deeper"));
  EXPECT_THAT(refusal_of(std::string((std::size_t{16} << 20) + 1, ' ')), HasSubstr("more than"));
}

// What is legal but far too much is refused before work grows with its square.
TEST(HwlocXml, EnormousFile_IsRefused_InTimeOfItsLength) {
  const std::string machine = "<topology><object type=\"Machine\" cpuset=\"0x3\">";
  std::string attributes = machine + "<object";
  for (int i = 0; i < 1'000'000; ++i) attributes += " a" + std::to_string(i) + "=\"\"";
  EXPECT_THAT(refusal_of(attributes + "/>"), HasSubstr("more than 256 attributes"));
  std::string elements = machine;
  for (int i = 0; i < 2'000'000; ++i) elements += "\t\n<a/>";
  EXPECT_THAT(refusal_of(elements), HasSubstr("more than 262144 elements"));
  std::string devices = machine;
  for (int i = 0; i < 100'000; ++i) {
    devices += "<object type=\"OSDev\" osdev_type=\"2\" name=\"e" + std::to_string(i) + "\"/>\n";
  }
  EXPECT_THAT(refusal_of(devices + "</object></topology>"), HasSubstr("more than 8192 devices"));
  std::string links = machine + "</object><distances2 name=\"NVLinkBandwidth\"><indexes>";
  for (int i = 0; i < 257; ++i) links += std::to_string(i) + " ";
  links += "</indexes><u64values>";
  for (int i = 0; i < 257 * 257; ++i) links += "1 ";
  EXPECT_THAT(refusal_of(links + "</u64values></distances2></topology>"), HasSubstr("up to 256"));
}

// Whatever happens to a description, it is taken or refused.
TEST(HwlocXml, DamagedFile_NeverCrashes) {
  const std::string text = text_of_file(machine_file("pcie_server"));
  ASSERT_GT(text.size(), 1000u);
  unsigned seed = 12345;
  const auto random = [&seed](std::size_t below) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
  };
  int refused = 0;
  for (int round = 0; round < 150; ++round) {
    std::string damaged = text;
    switch (round % 3) {
      case 0:
        damaged.resize(random(text.size()));
        break;
      case 1:
        for (int i = 0; i < 4; ++i)
          damaged[random(text.size())] = static_cast<char>(random(95) + 32);
        break;
      default:
        damaged.erase(text.find('\n', random(text.size() - 200)), 1 + random(90));
    }
    const TemporaryFolder folder;
    const std::string path = folder.path() / "damaged.xml";
    std::ofstream(path) << damaged;
    const CapturedLog log;
    DiscoverOptions options;
    options.xml_file = path;
    const auto topology = discover(options, log.log());
    if (topology.ok()) {
      EXPECT_FALSE(text_of(topology.value()).empty());
    } else {
      ++refused;
      EXPECT_EQ(log.warnings().size(), 1u);
    }
  }
  EXPECT_GE(refused, 50);
}

TEST(RunningMachine_WithAndWithoutHwloc_AreTheSameCores, AndNeverEmpty) {
  const CapturedLog log;
  DiscoverOptions plain;
  plain.use_hwloc = false;
  const auto from_sysfs = discover(plain, log.log());
  const auto from_hwloc = discover(DiscoverOptions(), log.log());
  ASSERT_TRUE(from_sysfs.ok() && from_hwloc.ok());
  EXPECT_FALSE(from_sysfs.value().machine().cores.empty());
  EXPECT_EQ(from_sysfs.value().nics().size(), from_hwloc.value().nics().size());
}

}  // namespace
}  // namespace thinwire::topology
