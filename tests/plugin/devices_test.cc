#include "plugin/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinwire::plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NicInfo nic_info(const char* name, const char* pci_path = "") {
  NicInfo nic;
  nic.name = name;
  nic.pci_path = pci_path;
  return nic;
}

// Two ports of one card, a GPU beside them, and a device the topology does not know.
topology::Topology machine() {
  topology::Machine machine;
  machine.cores = *topology::CpuSet::from_list("0-7");
  for (int node = 0; node < 2; ++node) {
    topology::NumaNode numa;
    numa.os_index = node;
    numa.cores = *topology::CpuSet::from_list(node == 0 ? "0-3" : "4-7");
    machine.numa_nodes.push_back(numa);
  }
  for (const char* bus_id : {"0000:01:00.0", "0000:02:00.0", "0000:02:00.1", "0000:03:00.0"}) {
    topology::PciDevice device;
    device.bus_id = bus_id;
    device.numa_node = 1;
    device.parent = machine.pci.empty() ? topology::kNone : 0;
    machine.pci.push_back(device);
  }
  for (int port = 0; port < 2; ++port) {
    topology::Nic nic;
    nic.net_name = port == 0 ? "ens2f0" : "ens2f1";
    nic.pci = 1 + port;
    nic.guid = 0x1234;
    nic.speed_mbps = 25000;
    machine.nics.push_back(nic);
  }
  topology::Gpu gpu;
  gpu.name = "nvml0";
  gpu.pci = 3;
  machine.gpus.push_back(gpu);
  return topology::Topology(machine);
}

std::vector<std::string> names(const std::vector<Device>& devices) {
  std::vector<std::string> out;
  for (const Device& device : devices) out.push_back(device.nic.name);
  return out;
}

TEST(Devices_OfTheTransport_AreOrderedByPciAddress, AndKnowWhereTheyWere) {
  const auto devices =
      place_devices({nic_info("veth1"), nic_info("ens2f1"), nic_info("veth0"), nic_info("ens2f0"),
                     nic_info("ens9", "/sys/devices/pci0000:00/0000:01:00.7")},
                    machine());
  EXPECT_THAT(names(devices), ElementsAre("ens9", "ens2f0", "ens2f1", "veth1", "veth0"));
  EXPECT_EQ(devices[1].transport_index, 3);
  EXPECT_EQ(devices[4].transport_index, 2);
}

TEST(Devices_WhatTheTransportLacks_ComesFromTheTopology, AndOnlyThat) {
  NicInfo known = nic_info("ens2f1");
  known.speed_mbps = 100;
  known.speed_known = true;
  known.numa_node = 0;
  const auto devices = place_devices({nic_info("ens2f0"), known, nic_info("veth0")}, machine());
  EXPECT_EQ(devices[0].nic.speed_mbps, 25000);
  EXPECT_EQ(devices[0].nic.numa_node, 1);
  EXPECT_EQ(devices[0].cores.list(), "4-7");
  EXPECT_EQ(devices[1].nic.speed_mbps, 100);
  EXPECT_EQ(devices[1].nic.numa_node, 0);
  EXPECT_EQ(devices[0].nic.guid, devices[1].nic.guid);
  EXPECT_EQ(devices[2].nic.numa_node, -1);
  EXPECT_TRUE(devices[2].cores.empty());
}

TEST(Devices_NearestToAGpu_AreNamed, EvenWhenNotInUse) {
  const topology::Topology topology = machine();
  EXPECT_THAT(gpu_lines(place_devices({nic_info("veth0"), nic_info("ens2f0")}, topology), topology),
              ElementsAre("GPU nvml0: nearest NIC ens2f0 (PIX), device 0"));
  EXPECT_THAT(gpu_lines({}, topology), ElementsAre(HasSubstr("which is not in use")));
}

}  // namespace
}  // namespace thinwire::plugin
