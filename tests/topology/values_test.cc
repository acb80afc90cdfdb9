#include <gtest/gtest.h>

#include "topology/cpu_set.h"
#include "topology/pci_facts.h"
#include "topology/topology.h"

namespace thinwire::topology {
namespace {

TEST(CpuSet_ListsAndMasks_AreReadAndWritten, Alike) {
  const auto set = CpuSet::from_list("0-3,8,32-33,64");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->list(), "0-3,8,32-33,64");
  EXPECT_EQ(set->mask(), "00000001,00000003,0000010f");
  EXPECT_EQ(set->count(), 8u);
  EXPECT_EQ(CpuSet().mask(), "00000000");
  EXPECT_EQ(CpuSet::from_list("")->count(), 0u);
}

TEST(CpuSet_MalformedList_IsRefused, WithoutGrowing) {
  for (const char* text : {"a", "1-", "3-1", "0-70000", "1,,2", "-1", "99999999999999999999"}) {
    EXPECT_FALSE(CpuSet::from_list(text)) << text;
  }
}

TEST(CpuSet_IntersectionAndUnion_Compare, WhateverTheirLength) {
  const CpuSet low = *CpuSet::from_list("0-3");
  const CpuSet high = *CpuSet::from_list("2-3,500");
  EXPECT_EQ((low & high).list(), "2-3");
  EXPECT_EQ((low | high).list(), "0-3,500");
  EXPECT_EQ((high & low), *CpuSet::from_list("2-3"));
}

TEST(BusId_OfAnyWriter_IsNormalised, OrRefused) {
  EXPECT_EQ(normalised_bus_id("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(normalised_bus_id("10000:e1:1f.7"), "10000:e1:1f.7");
  for (const char* text : {"", ":", "::.", "pci0000:00", "0000:3b:00", "0000:3b:20.0", "x:3b:00.0",
                           "0000:3b:00.0 ", "3b:00.0"}) {
    EXPECT_FALSE(normalised_bus_id(text)) << text;
  }
}

TEST(PciLink_FromBytesPerSecond_IsTheWidest, ThatFits) {
  PciDevice device;
  set_link(31.5, device);
  EXPECT_DOUBLE_EQ(device.link_gts, 16);
  EXPECT_EQ(device.link_width, 16);
  EXPECT_EQ(link_speed_text(device.link_gts), "16.0 GT/s PCIe");
  PciDevice odd;
  set_link(0, odd);
  set_link(1000, odd);
  EXPECT_EQ(odd.link_width, 0);
  EXPECT_EQ(link_speed_text(0), "");
}

PciDevice pci_device(const char* bus_id, int parent = kNone) {
  PciDevice device;
  device.bus_id = bus_id;
  device.parent = parent;
  return device;
}

Nic nic(const char* name, int pci) {
  Nic out;
  out.net_name = name;
  out.pci = pci;
  return out;
}

TEST(Topology_UnorderedParts_AreOrdered, AndUnneededBridgesGo) {
  Machine machine;
  machine.cores = *CpuSet::from_list("0-1");
  machine.pci = {pci_device("0000:05:00.0"), pci_device("0000:02:00.0", 2),
                 pci_device("0000:01:00.0"), pci_device("0000:03:00.1")};
  machine.nics = {nic("b", 3), nic("virtual", kNone), nic("a", 1)};
  const Topology topology(std::move(machine));
  ASSERT_EQ(topology.nics().size(), 3u);
  EXPECT_EQ(topology.nics()[0].name(), "a");
  EXPECT_EQ(topology.nics()[1].name(), "b");
  EXPECT_EQ(topology.nics()[2].name(), "virtual");
  EXPECT_EQ(topology.machine().pci.size(), 3u);
  EXPECT_EQ(topology.pci_of(topology.pci_of(topology.nics()[0].pci)->parent)->bus_id,
            "0000:01:00.0");
  EXPECT_EQ(topology.find_nic(""), nullptr);
  EXPECT_EQ(topology.pci_of(17), nullptr);
}

}  // namespace
}  // namespace thinwire::topology
