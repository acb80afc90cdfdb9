#include "base/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thinwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kInterface = 0;  // has no port

TEST(DeviceList, AdmitsAsNcclDoes) {
  const struct {
    const char* list;
    const char* device;
    int port;
    bool admitted;
  } kTable[] = {
      {"", "mlx5_0", 1, true},
      {"mlx5", "mlx5_10", 1, true},
      {"=mlx5", "mlx5_10", 1, false},
      {"=mlx5_1,mlx5_3:2", "mlx5_3", 2, true},
      {"=mlx5_1,mlx5_3:2", "mlx5_3", 1, false},
      {"^mlx5_1", "mlx5_1", 1, false},
      {"^mlx5_1", "mlx5_10", 1, false},
      {"^=mlx5_1", "mlx5_10", 1, true},
      {"^=mlx5_1:2", "mlx5_1", 1, true},
      {"=mlx5_1::4", "mlx5_1", 2, true},
      {"=mlx5_1:-1:4", "mlx5_1", 2, true},
      {",,mlx5_1", "mlx5_0", 1, false},
      {"eth1:7", "eth1", kInterface, true},
      // What is no port is of no port, and lets nothing else in.
      {"=mlx5_1:x", "mlx5_1", 1, false},
      {"=mlx5_1:0", "mlx5_0", 1, false},
  };
  for (const auto& row : kTable) {
    EXPECT_EQ(DeviceList(row.list).admits(row.device, row.port), row.admitted)
        << row.list << " " << row.device << ":" << row.port;
  }
}

TEST(DeviceList, Ids_AreThoseOfTheFirstItemThatFits) {
  const DeviceList list("=mlx5_0:1:0:3,mlx5_0:2:1,mlx5_0::9,mlx5_1,mlx5_2:::16383,mlx5_3::32767");
  EXPECT_THAT(list.complaints(), IsEmpty());
  EXPECT_EQ(list.ids_of("mlx5_0", 1), (RailIds{0, 3}));
  EXPECT_EQ(list.ids_of("mlx5_0", 2), (RailIds{1, kUndefinedId}));
  EXPECT_EQ(list.ids_of("mlx5_0", 3), (RailIds{9, kUndefinedId}));
  EXPECT_EQ(list.ids_of("mlx5_1", 1), RailIds{});
  EXPECT_EQ(list.ids_of("mlx5_2", 1), (RailIds{kUndefinedId, 16383}));
  EXPECT_EQ(list.ids_of("mlx5_3", 1), (RailIds{32767, kUndefinedId}));
  EXPECT_EQ(list.ids_of("mlx5_4", 1), RailIds{});
  EXPECT_EQ(DeviceList("eth0::2:1").ids_of("eth0", kInterface), (RailIds{2, 1}));
}

TEST(DeviceList, OfWhatIsLeftOut_KnowsNoIds) {
  EXPECT_EQ(DeviceList("^mlx5_1::4").ids_of("mlx5_0", 1), RailIds{});
  EXPECT_EQ(DeviceList("").ids_of("mlx5_0", 1), RailIds{});
}

TEST(DeviceList, BadNumbers_AreNamedWithWhatIsAccepted_AndTheRestCounts) {
  const DeviceList list("=a:1:32768,b:256,c:1:0:16384,d:1:1x:2,e:1:2:3:4");
  EXPECT_THAT(list.complaints(),
              ElementsAre(AllOf(HasSubstr("rail 32768 of a:1:32768"), HasSubstr("0 to 32767")),
                          AllOf(HasSubstr("port 256 of b:256"), HasSubstr("1 to 255")),
                          AllOf(HasSubstr("plane 16384 of c:1:0:16384"), HasSubstr("0 to 16383")),
                          HasSubstr("rail 1x of d:1:1x:2"),
                          AllOf(HasSubstr("\"4\" at the end of e"), HasSubstr("rail:plane"))));
  EXPECT_TRUE(list.admits("a", 1));
  EXPECT_EQ(list.ids_of("a", 1), RailIds{});
  EXPECT_EQ(list.ids_of("c", 1), (RailIds{0, kUndefinedId}));
  EXPECT_EQ(list.ids_of("d", 1), (RailIds{kUndefinedId, 2}));
  EXPECT_EQ(list.ids_of("e", 1), (RailIds{2, 3}));
}

TEST(RailIds, InWords_AreWhatIsKnown) {
  EXPECT_EQ(text_of(RailIds{}), "");
  EXPECT_EQ(text_of(RailIds{0, kUndefinedId}), ", rail 0");
  EXPECT_EQ(text_of(RailIds{3, 1}), ", rail 3, plane 1");
}

}  // namespace
}  // namespace thinwire
