// The choice of interfaces, as a table, and what sysfs says of them, from a made-up tree.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "transports/tcp/interfaces.h"

namespace thinwire::transports::tcp {
namespace {

SocketAddress ipv4(int last) {
  SocketAddress address;
  address.family = SocketAddress::Family::ipv4;
  address.bytes = {std::byte{10}, {}, {}, static_cast<std::byte>(last)};
  return address;
}

SocketAddress ipv6(bool link_local, std::uint32_t scope = 0) {
  SocketAddress address;
  address.family = SocketAddress::Family::ipv6;
  address.bytes[0] = link_local ? std::byte{0xFE} : std::byte{0x20};
  address.bytes[1] = link_local ? std::byte{0x80} : std::byte{0x01};
  address.scope_id = scope;
  return address;
}

// A host with a bit of everything.
std::vector<Interface> host() {
  return {{"lo", true, true, false, {ipv4(1)}},
          {"eth0", true, false, false, {ipv6(true, 2), ipv4(2)}},
          {"eth1", true, false, false, {ipv4(3), ipv6(false)}},
          {"eth10", false, false, false, {ipv4(9)}},
          {"docker0", true, false, true, {ipv4(4)}},
          {"ib0", true, false, false, {ipv6(true, 6)}}};
}

std::string names(const InterfaceChoice& choice) {
  std::string all;
  for (const auto& each : choice.chosen) all += (all.empty() ? "" : " ") + each.interface.name;
  return all;
}

TEST(ChooseInterfaces, Filters_SelectAsNcclDoes) {
  const struct {
    const char* filter;
    AddressFamily family;
    const char* expected;
  } kTable[] = {
      {"", AddressFamily::any, "eth0 eth1 ib0"},
      {"", AddressFamily::ipv4, "eth0 eth1"},
      {"", AddressFamily::ipv6, "eth0 eth1 ib0"},
      {"eth", AddressFamily::any, "eth0 eth1"},
      {"eth1", AddressFamily::any, "eth1"},
      {"=eth1", AddressFamily::any, "eth1"},
      {"=eth", AddressFamily::any, ""},
      {"eth1,ib", AddressFamily::any, "eth1 ib0"},
      {"=eth0,ib0", AddressFamily::any, "eth0 ib0"},
      {"=eth0::1:0,ib0:1", AddressFamily::any, "eth0 ib0"},
      {"^eth", AddressFamily::any, "lo docker0 ib0"},
      {"^docker,lo", AddressFamily::any, "eth0 eth1 ib0"},
      {"^=eth0,lo", AddressFamily::any, "eth1 docker0 ib0"},
      {"lo", AddressFamily::any, "lo"},
      {"docker", AddressFamily::ipv4, "docker0"},
      {"ib", AddressFamily::ipv4, ""},
      {"eth10", AddressFamily::any, ""},
      {"wlan", AddressFamily::any, ""},
  };
  for (const auto& row : kTable) {
    const InterfaceChoice choice = choose_interfaces(host(), row.filter, row.family);
    EXPECT_EQ(names(choice), row.expected) << "filter " << row.filter;
    EXPECT_EQ(choice.refusal.empty(), !choice.chosen.empty()) << row.filter;
    for (const auto& each : choice.chosen) EXPECT_FALSE(each.reason.empty());
  }
}

TEST(ChooseInterfaces, Reasons_NameTheRule) {
  const auto by_filter = choose_interfaces(host(), "eth", AddressFamily::any);
  EXPECT_EQ(by_filter.chosen[0].reason, "first of 2 interfaces matching NCCL_SOCKET_IFNAME=eth");
  const auto fallback = choose_interfaces({host()[0], host()[3]}, "", AddressFamily::any);
  ASSERT_EQ(names(fallback), "lo");
  EXPECT_EQ(fallback.chosen[0].reason, "only loopback is up");
}

TEST(ChooseInterfaces, Refusal_NamesVariableValueAndInterfaces) {
  const auto choice = choose_interfaces(host(), "wlan", AddressFamily::any);
  for (const char* part : {"NCCL_SOCKET_IFNAME=wlan", "eth0", "docker0", "10.0.0.2"}) {
    EXPECT_NE(choice.refusal.find(part), std::string::npos) << choice.refusal;
  }
  const auto family = choose_interfaces({host()[0]}, "", AddressFamily::ipv6);
  EXPECT_NE(family.refusal.find("NCCL_SOCKET_FAMILY=AF_INET6"), std::string::npos)
      << family.refusal;
}

TEST(ChooseInterfaces, Addresses_MostReachableFirst) {
  const auto choice = choose_interfaces(host(), "eth", AddressFamily::any);
  EXPECT_TRUE(choice.chosen[0].interface.addresses[0].same_host_as(ipv4(2)));
  const auto only_ipv6 = choose_interfaces(host(), "eth", AddressFamily::ipv6);
  EXPECT_TRUE(only_ipv6.chosen[1].interface.addresses[0].same_host_as(ipv6(false)));
  EXPECT_EQ(only_ipv6.chosen[1].interface.addresses.size(), 1u);
}

TEST(ChooseInterfaces, LinkLocalWithoutScope_IsUnusable) {
  const Interface broken{"eth5", true, false, false, {ipv6(true, 0)}};
  EXPECT_TRUE(choose_interfaces({broken}, "", AddressFamily::any).chosen.empty());
}

class DescribeNic : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "thinwire-sysfs-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  // A network interface on a PCI function.
  void add_nic(const std::string& name, const std::string& function, const char* speed) {
    const std::string device = "devices/pci0000:00/" + function;
    write(device + "/numa_node", "1");
    write("class/net/" + name + "/speed", speed);
    write("class/net/" + name + "/address", "02:00:00:00:00:0a");
    std::filesystem::create_symlink(root_ / device, root_ / "class/net" / name / "device");
  }
  NicInfo describe(const std::string& name) { return describe_nic({name, {}, {}, {}, {}}, root_); }

  std::filesystem::path root_;
};

TEST_F(DescribeNic, PciFunction_GivesPathSpeedAndNode) {
  add_nic("eth0", "0000:3b:00.0", "100000");
  add_nic("eth1", "0000:3b:00.1", "-1");
  const NicInfo nic = describe("eth0");
  EXPECT_NE(nic.pci_path.find("pci0000:00/0000:3b:00.0"), std::string::npos);
  EXPECT_EQ(nic.speed_mbps, 100000);
  EXPECT_EQ(nic.numa_node, 1);
  EXPECT_TRUE(nic.speed_known);
  EXPECT_EQ(describe("eth1").speed_mbps, 10000);
  EXPECT_FALSE(describe("eth1").speed_known);
  EXPECT_EQ(describe("eth1").guid, nic.guid) << "two ports of one chip";
}

TEST_F(DescribeNic, Virtual_HasNoPciPathAndItsAddressAsGuid) {
  write("class/net/veth0/address", "02:00:00:00:00:0a");
  const NicInfo nic = describe("veth0");
  EXPECT_EQ(nic.pci_path, "");
  EXPECT_EQ(nic.guid, 0x02000000000au);
  EXPECT_EQ(nic.speed_mbps, 10000);
  EXPECT_EQ(nic.numa_node, -1);
}

TEST_F(DescribeNic, Bond_IsFollowedToItsHardware) {
  add_nic("eth0", "0000:3b:00.0", "25000");
  write("class/net/bond0/speed", "50000");
  std::filesystem::create_symlink(root_ / "class/net/eth0", root_ / "class/net/bond0/lower_eth0");
  const NicInfo nic = describe("bond0");
  EXPECT_EQ(nic.name, "bond0");
  EXPECT_EQ(nic.speed_mbps, 50000);
  EXPECT_EQ(nic.pci_path, describe("eth0").pci_path);
}

TEST_F(DescribeNic, UnknownInterface_StillHasAGuid) { EXPECT_NE(describe("tun7").guid, 0u); }

}  // namespace
}  // namespace thinwire::transports::tcp
