// What UCX's listing means for NICs, and the formats that the UCX transport adds.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "transports/ucx/control_message.h"
#include "transports/ucx/memory_domain.h"
#include "transports/ucx/resources.h"

namespace thinwire::transports::ucx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kListing =
    "#\n# UCP context\n#\n"
    "#     component 0  :  self\n"
    "#            md 0  :  component 0  self \n"
    "#\n"
    "#      resource 0  :  md 0  dev 0  flags -- self/memory0\n"
    "#      resource 1  :  md 1  dev 1  flags -- tcp/eth0\n"
    "#      resource 2  :  md 1  dev 2  flags -- tcp/lo\n"
    "#      resource 3  :  md 2  dev 3  flags -- posix/memory\n"
    "#      resource 4  :  md 3  dev 4  flags -- rc_mlx5/mlx5_0:1\n"
    "#      resource 5  :  md 3  dev 4  flags a- ud_mlx5/mlx5_0:1\n"
    "#      resource 6  :  md 4  dev 5  flags -- cuda_copy/cuda\n";

TEST(UcxResources, Listing_IsRead) {
  const auto resources = parse_resources(kListing);
  ASSERT_EQ(resources.size(), 7u);
  EXPECT_EQ(resources[1], (Resource{"tcp", "eth0"}));
  EXPECT_EQ(resources[4], (Resource{"rc_mlx5", "mlx5_0:1"}));
  EXPECT_TRUE(has_shared_memory(resources));
  EXPECT_TRUE(has_network(resources));
}

TEST(UcxResources, TcpOnly_IsTcpBesideNoOtherNetwork) {
  EXPECT_TRUE(has_tcp_only({{"self", "memory0"}, {"tcp", "eth0"}, {"posix", "memory"}}));
  EXPECT_FALSE(has_tcp_only({{"tcp", "eth0"}, {"rc_verbs", "mlx5_0:1"}}));
  EXPECT_FALSE(has_tcp_only({{"posix", "memory"}}));
}

TEST(UcxResources, OtherText_HoldsNone) {
  EXPECT_THAT(parse_resources(""), IsEmpty());
  EXPECT_THAT(parse_resources("resource\n resource 1 :\n resource x/ y"), IsEmpty());
}

TEST(UcxResources, MemoryAndGpus_AreNoNetwork) {
  EXPECT_FALSE(has_network({{"self", "memory0"}, {"posix", "memory"}, {"cuda_copy", "cuda"}}));
  EXPECT_FALSE(has_shared_memory({{"self", "memory0"}, {"tcp", "eth0"}}));
}

TEST(UcxResources, Nic_HasItsInterfaceAndItsRdmaDevice) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / ("ucx_sysfs_" + std::to_string(getpid()));
  const fs::path pci = root / "devices" / "pci0000:00" / "0000:3b:00.0";
  fs::create_directories(pci);
  fs::create_directories(root / "class" / "infiniband" / "mlx5_0");
  fs::create_symlink(pci, root / "class" / "infiniband" / "mlx5_0" / "device");
  const auto resources = parse_resources(kListing);
  NicInfo nic;
  nic.name = "eth0";
  nic.pci_path = fs::canonical(pci).string();
  EXPECT_THAT(devices_of(nic, resources, root.string()), ElementsAre("eth0", "mlx5_0:1"));
  nic.pci_path.clear();
  EXPECT_THAT(devices_of(nic, resources, root.string()), ElementsAre("eth0"));
  nic.name = "eth7";
  EXPECT_THAT(devices_of(nic, resources, root.string()), IsEmpty());
  fs::remove_all(root);
}

TEST(UcxControlMessage, EveryField_ComesBack) {
  ControlMessage message;
  message.kind = ControlKind::answer;
  message.endpoint = 0x1122334455667788u;
  message.domain = 2;
  message.channel = 3;
  message.watching = 2;
  message.window_bytes = 5;
  message.code = 6;
  message.message_bytes = 7;
  message.buffer_bytes = 8;
  message.messages = 9;
  message.blob.resize(300);
  const ControlMessage got = from_frame(to_frame(message));
  EXPECT_EQ(got.blob.size(), 300u);
  EXPECT_EQ(got.kind, message.kind);
  EXPECT_EQ(got.endpoint, message.endpoint);
  EXPECT_EQ(got.domain, message.domain);
  EXPECT_EQ(got.channel, message.channel);
  EXPECT_EQ(got.watching, message.watching);
  EXPECT_EQ(got.window_bytes, message.window_bytes);
  EXPECT_EQ(got.code, message.code);
  EXPECT_EQ(got.message_bytes, message.message_bytes);
  EXPECT_EQ(got.buffer_bytes, message.buffer_bytes);
  EXPECT_EQ(got.messages, message.messages);
}

TEST(UcxMemoryDomain, IsThisProcesssAndDependsOnTheHostId) {
  EXPECT_EQ(memory_domain(""), memory_domain(""));
  EXPECT_NE(memory_domain(""), memory_domain("a"));
  EXPECT_NE(memory_domain("a"), memory_domain("b"));
}

}  // namespace
}  // namespace thinwire::transports::ucx
