#include "plugin/merged_ids.h"

#include <gtest/gtest.h>

namespace thinwire::plugin {
namespace {

constexpr int kNone = kUndefinedId;

TEST(MergedIds, OfMembersThatAgree_AreTheirs) {
  EXPECT_EQ(merged_ids({{2, 1}, {2, 1}}, {1, 0, 1}), (RailIds{2, 1}));
  EXPECT_EQ(merged_ids({{kNone, kNone}, {kNone, kNone}}, {kNone, kNone}), RailIds{});
}

TEST(MergedIds, OfDifferentRails_AreOnNone) {
  EXPECT_EQ(merged_ids({{0, 5}, {1, 5}}, {5, 5}), (RailIds{kNone, 5}));
  EXPECT_EQ(merged_ids({{0, 5}, {kNone, 5}}, {5, 5}), (RailIds{kNone, 5}));
}

TEST(MergedIds, OfDifferentPlanes_AreOnOneOfTheirOwn_EqualForTheSamePlanes) {
  const std::vector<int> planes{7, 0, 7, 9, 0, kNone};
  const int both = merged_ids({{0, 7}, {0, 0}}, planes).plane;
  EXPECT_GT(both, kMaxPlane);
  EXPECT_LE(both, kMaxRail);
  EXPECT_EQ(merged_ids({{1, 0}, {1, 7}}, planes).plane, both);
  EXPECT_EQ(merged_ids({{1, 0}, {1, 7}, {1, 0}}, planes).plane, both);
  EXPECT_NE(merged_ids({{1, 0}, {1, 9}}, planes).plane, both);
  EXPECT_NE(merged_ids({{1, 0}, {1, 9}, {1, 7}}, planes).plane, both);
}

TEST(MergedIds, OfAnUnknownPlane_AreOnNone) {
  EXPECT_EQ(merged_ids({{0, 7}, {0, kNone}}, {7, kNone}), (RailIds{0, kNone}));
  EXPECT_EQ(merged_ids({{0, kNone}, {0, 7}}, {7, kNone}), (RailIds{0, kNone}));
}

TEST(MergedIds, OfMorePlanesThanThereAreBits_AreOnNone) {
  std::vector<int> planes;
  for (int plane = 0; plane < 14; ++plane) planes.push_back(plane);
  EXPECT_EQ(merged_ids({{0, 0}, {0, 13}}, planes).plane, 16384 + 8192 + 1);
  planes.push_back(14);
  EXPECT_EQ(merged_ids({{0, 0}, {0, 13}}, planes).plane, kNone);
}

}  // namespace
}  // namespace thinwire::plugin
