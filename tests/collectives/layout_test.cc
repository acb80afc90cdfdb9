// Layouts: who is where, and in which order neighbours follow one another.
#include "collectives/layout.h"

#include <gtest/gtest.h>

namespace thinwire::collectives {
namespace {

TEST(Layout, Flat_IsOneHostARank) {
  const Layout layout = flat_layout(4);
  EXPECT_EQ(layout.hosts(), 4);
  EXPECT_EQ(layout.order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(layout.level(1, 1), kWithinHost);
  EXPECT_EQ(layout.level(1, 3), kBetweenHosts);
  EXPECT_EQ(layout.widest, kBetweenHosts);
  EXPECT_EQ(flat_layout(1).widest, kWithinHost);
}

TEST(Layout, InterleavedHosts_AreBroughtTogether) {
  const std::vector<std::uint64_t> hosts = {70, 5, 9, 70, 5, 9, 5};
  const Layout layout = make_layout(hosts);
  EXPECT_EQ(layout.hosts(), 3);
  EXPECT_EQ(layout.host_of, (std::vector<int>{0, 1, 2, 0, 1, 2, 1}));
  EXPECT_EQ(layout.order, (std::vector<int>{0, 3, 1, 4, 6, 2, 5}));
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    EXPECT_EQ(layout.rank_at(layout.place_of(rank)), rank);
  }
  EXPECT_EQ(layout.level(0, 3), kWithinHost);
  EXPECT_EQ(layout.widest, kBetweenHosts);
}

TEST(Layout, Racks_ComeBeforeHosts) {
  const std::vector<std::uint64_t> hosts = {1, 2, 3, 4, 1};
  const std::vector<std::uint64_t> racks = {8, 9, 8, 9, 8};
  const Layout layout = make_layout(hosts, racks);
  EXPECT_EQ(layout.order, (std::vector<int>{0, 4, 2, 1, 3}));
  EXPECT_EQ(layout.level(0, 4), kWithinHost);
  EXPECT_EQ(layout.level(0, 2), kBetweenHosts);
  EXPECT_EQ(layout.level(2, 1), kBetweenRacks);
  EXPECT_EQ(layout.widest, kBetweenRacks);
}

TEST(Layout, OneHost_IsNarrow) {
  const std::vector<std::uint64_t> hosts = {7, 7, 7};
  EXPECT_EQ(make_layout(hosts).widest, kWithinHost);
}

}  // namespace
}  // namespace thinwire::collectives
