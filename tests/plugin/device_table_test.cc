// What NCCL may make of several devices, through each table.
#include "plugin/device_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinwire::plugin {
namespace {

using ::testing::ElementsAre;

// Remembers what it was asked to open; does not merge its device 9.
class MergingTransport final : public transports::Transport {
 public:
  std::string_view name() const override { return "merging"; }
  Result<std::vector<NicInfo>> probe() override { return std::vector<NicInfo>(); }
  Result<std::unique_ptr<transports::Endpoint>> open(int device) override {
    opened = {device};
    return Status(Code::system_error, "only looked at");
  }
  Status can_merge(std::span<const int> devices) override {
    for (const int device : devices) {
      if (device == 9) return {Code::invalid_config, "of another kind"};
    }
    return {};
  }
  Result<std::unique_ptr<transports::Endpoint>> open_merged(std::span<const int> devices) override {
    opened.assign(devices.begin(), devices.end());
    return Status(Code::system_error, "only looked at");
  }
  std::vector<int> opened;
};

class SingleTransport final : public transports::Transport {
 public:
  std::string_view name() const override { return "single"; }
  Result<std::vector<NicInfo>> probe() override { return std::vector<NicInfo>(); }
  Result<std::unique_ptr<transports::Endpoint>> open(int) override {
    return Status(Code::system_error, "only looked at");
  }
};

std::vector<Device> four() {
  std::vector<Device> devices;
  for (const int transport_index : {3, 2, 9, 0}) {
    Device device;
    device.nic.name = "mlx5_" + std::to_string(devices.size());
    device.nic.speed_mbps = 100;
    device.nic.speed_known = true;
    device.nic.guid = 40 + devices.size();
    device.nic.port = static_cast<int>(devices.size());
    device.nic.ids = {3, device.nic.port % 2};
    device.transport_index = transport_index;
    devices.push_back(device);
  }
  return devices;
}

class DeviceTableTest : public ::testing::Test {
 protected:
  DeviceTableTest() {
    log_.set_sink([](LogLevel, const char*, int, const char*) {});
  }
  Code code_of(const std::vector<int>& members) {
    DeviceTable table(four(), transport_, merges_, log_);
    return table.merge(Table::net, members).status().code();
  }
  Log log_;
  MergingTransport transport_;
  Merges merges_;
};

TEST_F(DeviceTableTest, Merge_JoinsNamesAndSpeeds_AndOpensAllMembers) {
  DeviceTable table(four(), transport_, merges_, log_);
  const auto made = table.merge(Table::net, std::vector{1, 3, 0});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value(), 4);
  const Device* device = table.find(4);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->nic.name, "mlx5_1+mlx5_3+mlx5_0");
  EXPECT_EQ(device->nic.speed_mbps, 300);
  EXPECT_EQ(device->nic.guid, 41u);
  EXPECT_EQ(device->nic.port, 1);
  EXPECT_THAT(device->members, ElementsAre(1, 3, 0));
  EXPECT_FALSE(table.open(4).ok());
  EXPECT_THAT(transport_.opened, ElementsAre(2, 0, 3));
  EXPECT_FALSE(table.open(1).ok());
  EXPECT_THAT(transport_.opened, ElementsAre(2));
  EXPECT_EQ(table.open(5).status().code(), Code::invalid_argument);
}

TEST_F(DeviceTableTest, Merge_OfTwoPlanesOfOneRail_IsOnThatRailAndAPlaneOfItsOwn) {
  DeviceTable table(four(), transport_, merges_, log_);
  EXPECT_TRUE(table.merge(Table::net, std::vector{0, 1}).ok());
  EXPECT_TRUE(table.merge(Table::net, std::vector{1, 3}).ok());
  EXPECT_EQ(table.find(4)->nic.ids, (RailIds{3, kMaxPlane + 1 + 3}));
  EXPECT_EQ(table.find(5)->nic.ids, (RailIds{3, 1}));
}

TEST_F(DeviceTableTest, EachTable_CountsWhatWasMadeThroughIt_WithEqualIndices) {
  DeviceTable table(four(), transport_, merges_, log_);
  EXPECT_EQ(table.merge(Table::collnet, std::vector{0, 1}).value(), 4);
  EXPECT_EQ(table.count(Table::collnet), 5);
  EXPECT_EQ(table.count(Table::net), 4);
  const Device* first = table.find(4);
  EXPECT_EQ(table.merge(Table::net, std::vector{0, 1}).value(), 4);
  EXPECT_EQ(table.count(Table::net), 5);
  EXPECT_EQ(table.find(4), first);
  EXPECT_EQ(table.last(), 4);
}

TEST_F(DeviceTableTest, TablesThatDiffer_AreRefused) {
  DeviceTable table(four(), transport_, merges_, log_);
  EXPECT_TRUE(table.merge(Table::collnet, std::vector{0, 1}).ok());
  EXPECT_EQ(table.merge(Table::net, std::vector{0, 3}).status().code(), Code::invalid_config);
  EXPECT_EQ(table.count(Table::net), 4);
}

TEST_F(DeviceTableTest, MembersThatCannotBe_AreRefusedAndNothingIsMade) {
  EXPECT_EQ(code_of({0, 4}), Code::invalid_argument);
  EXPECT_EQ(code_of({-1, 0}), Code::invalid_argument);
  EXPECT_EQ(code_of({1, 1}), Code::invalid_argument);
  EXPECT_EQ(code_of({0, 2}), Code::invalid_config);
  EXPECT_TRUE(merges_.members.empty());
  DeviceTable table(four(), transport_, merges_, log_);
  EXPECT_TRUE(table.merge(Table::net, std::vector{0, 1}).ok());
  EXPECT_EQ(table.merge(Table::net, std::vector{4, 3}).status().code(), Code::invalid_argument);
}

TEST_F(DeviceTableTest, TransportThatMergesNothing_Refuses) {
  SingleTransport single;
  DeviceTable table(four(), single, merges_, log_);
  EXPECT_EQ(table.merge(Table::net, std::vector{0, 1}).status().code(), Code::invalid_config);
  EXPECT_EQ(table.count(Table::net), 4);
}

// NCCL does not merge again when it comes back after its last communicator.
TEST_F(DeviceTableTest, NextTable_HasWhatWasMadeBefore_UnlessTheDevicesAreGone) {
  {
    DeviceTable table(four(), transport_, merges_, log_);
    EXPECT_TRUE(table.merge(Table::net, std::vector{0, 3}).ok());
  }
  const DeviceTable again(four(), transport_, merges_, log_);
  EXPECT_EQ(again.count(Table::net), 5);
  EXPECT_EQ(again.find(4)->nic.name, "mlx5_0+mlx5_3");
  auto fewer = four();
  fewer.pop_back();
  const DeviceTable without(fewer, transport_, merges_, log_);
  EXPECT_EQ(without.count(Table::net), 3);
  EXPECT_EQ(without.find(3), nullptr);
}

}  // namespace
}  // namespace thinwire::plugin
