// What each schedule promises: its shape, its steps, its peers, its bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "collectives/checker.h"
#include "collectives/schedules/grid.h"
#include "tests/collectives/plans.h"

namespace thinwire::collectives::testing {
namespace {

void expect_proven(ScheduleKind kind, const Layout& layout, const GridSides& grid = {}) {
  for (const Collective collective : kCollectives) {
    ASSERT_EQ(check_plans(all_plans(kind, collective, layout, grid)), "");
  }
}

int sum_of_steps(const GridSides& sides) {
  return std::accumulate(sides.begin(), sides.end(), 0,
                         [](int sum, int side) { return sum + side - 1; });
}

TEST(GridShape, EveryFullGrid_IsProvenAndAsShallowAsPromised) {
  std::vector<GridSides> shapes = {{2, 2, 2, 2}, {2, 4, 8}, {1, 5, 1}, {3, 1, 4}, {2, 3, 2, 3}};
  for (int rows = 1; rows <= 9; ++rows) {
    for (int columns = 1; columns <= 9; ++columns) shapes.push_back({rows, columns});
  }
  for (const GridSides& sides : shapes) {
    const int ranks = std::accumulate(sides.begin(), sides.end(), 1, std::multiplies<>());
    const Layout layout = flat_layout(ranks);
    expect_proven(ScheduleKind::grid, layout, sides);
    const auto plans = all_plans(ScheduleKind::grid, Collective::all_reduce, layout, sides);
    EXPECT_EQ(depth_of(plans), 2 * sum_of_steps(sides));
    EXPECT_LE(most_peers(plans), sum_of_steps(sides));
  }
}

TEST(GridShape, AnyNumberOfRows_IsProvenAndAsShallowAsItsLongestRow) {
  for (int nodes = 2; nodes <= 40; ++nodes) {
    for (int rows = 1; rows <= nodes; ++rows) {
      const auto routes = row_routes(nodes, rows);
      EXPECT_EQ(routes->rounds(), (nodes + rows - 1) / rows - 1 + rows - 1);
      std::vector<int> sent(static_cast<std::size_t>(nodes));
      for (int piece = 0; piece < nodes; ++piece) {
        int edges = 0;
        for (int node = 0; node < nodes; ++node) {
          const Edge parent = routes->parent(piece, node);
          ASSERT_EQ(parent.node == kNoNode, node == piece);
          std::vector<Edge> children;
          routes->add_children(piece, node, children);
          edges += static_cast<int>(children.size());
          for (const Edge& child : children) {
            const Edge back = routes->parent(piece, child.node);
            ASSERT_EQ(back.node, node);
            ASSERT_EQ(back.round, child.round);
            ASSERT_TRUE(parent.node == kNoNode || child.round < parent.round);
          }
        }
        ASSERT_EQ(edges, nodes - 1);
      }
    }
  }
}

TEST(GridShape, CountsThatDoNotDivide_WasteNoRank) {
  EXPECT_EQ(best_rows(7), 2);   // 4 + 3
  EXPECT_EQ(best_rows(17), 3);  // 6 + 6 + 5
  EXPECT_EQ(best_rows(16), 4);  // 4 x 4
  EXPECT_EQ(best_rows(12), 3);  // 3 x 4
  EXPECT_EQ(best_rows(64), 8);  // 8 x 8
  EXPECT_EQ(best_rows(1024), 32);
  for (const auto& [ranks, steps] : {std::pair{7, 8}, {17, 14}, {16, 12}, {31, 20}, {127, 42}}) {
    const auto plans = all_plans(ScheduleKind::grid, Collective::all_reduce, flat_layout(ranks));
    EXPECT_EQ(depth_of(plans), steps) << ranks;
    // Nobody sends more than in a ring.
    for (const Plan& plan : plans) {
      EXPECT_EQ(std::count_if(plan.steps.begin(), plan.steps.end(),
                              [](const Step& s) {
                                return s.kind == StepKind::send && s.message < s.piece + 1;
                              }),
                ranks - 1);
    }
  }
}

TEST(Tree, AnyNumberOfRanks_TakesAtMostTwiceItsLogarithm) {
  for (const int ranks : {2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64}) {
    const auto plans = all_plans(ScheduleKind::tree, Collective::all_reduce, flat_layout(ranks));
    const int levels = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    EXPECT_LE(depth_of(plans), 2 * levels) << ranks;
    if (std::has_single_bit(static_cast<unsigned>(ranks))) {
      EXPECT_EQ(depth_of(plans), 2 * levels);
    }
    EXPECT_LE(most_peers(plans), 2 * levels);
  }
}

}  // namespace
}  // namespace thinwire::collectives::testing
