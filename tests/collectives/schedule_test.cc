// What each schedule promises: its shape, its steps, its peers, its bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <numeric>
#include <random>

#include "collectives/checker.h"
#include "collectives/schedules/grid.h"
#include "collectives/staging.h"
#include "tests/collectives/plans.h"

namespace thinwire::collectives::testing {
namespace {

// All ranks reckon with the same number of regions; nobody's Plan may need more.
void expect_fits_staging(const Plan& plan, ScheduleKind kind, const Layout& layout) {
  for (int a = 0; a < kArithmeticCount; ++a) {
    const auto arithmetic = static_cast<Arithmetic>(a);
    const Regions regions = regions_for(kind, arithmetic, layout);
    for (const bool in_place : {false, true}) {
      const CompiledPlan compiled = compile(plan, arithmetic, in_place);
      ASSERT_LE(static_cast<std::size_t>(compiled.wire_regions), regions.wire);
      ASSERT_LE(static_cast<std::size_t>(compiled.acc_regions), regions.acc);
    }
  }
}

void expect_proven(ScheduleKind kind, const Layout& layout, const GridSides& grid = {}) {
  for (const Collective collective : kCollectives) {
    const std::vector<Plan> plans = all_plans(kind, collective, layout, grid);
    ASSERT_EQ(check_plans(plans), "");
    ASSERT_EQ(check_levels(plans, layout), "");
    for (const Plan& plan : plans) expect_fits_staging(plan, kind, layout);
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

// `hosts` hosts of `each` ranks, rank r on host r mod `hosts`; `racks` racks of neighbouring hosts.
Layout interleaved(int hosts, int each, int racks = 1) {
  std::vector<std::uint64_t> host_ids, rack_ids;
  for (int rank = 0; rank < hosts * each; ++rank) {
    host_ids.push_back(static_cast<std::uint64_t>(rank % hosts));
    rack_ids.push_back(static_cast<std::uint64_t>(rank % hosts * racks / hosts));
  }
  return make_layout(host_ids, rack_ids);
}

// Pieces that each host sends to other hosts.
std::vector<int> sent_between_hosts(const std::vector<Plan>& plans, const Layout& layout) {
  std::vector<int> sent(static_cast<std::size_t>(layout.hosts()));
  for (const Plan& plan : plans) {
    for (const Step& step : plan.steps) {
      const bool leaves =
          step.kind == StepKind::send && layout.level(plan.rank, step.peer) >= kBetweenHosts;
      if (leaves) ++sent[static_cast<std::size_t>(layout.host(plan.rank))];
    }
  }
  return sent;
}

TEST(Layouts, AnyWhateverTheSchedule_AreProven) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 28);
    const std::uint64_t hosts = 1 + random() % static_cast<std::uint64_t>(ranks);
    const std::uint64_t racks = 1 + random() % 3;
    std::vector<std::uint64_t> host_ids, rack_ids;
    for (int rank = 0; rank < ranks; ++rank) {
      host_ids.push_back(random() % hosts);
      rack_ids.push_back(host_ids.back() % racks);
    }
    const Layout layout = make_layout(host_ids, rack_ids);
    for (const ScheduleKind kind : kScheduleKinds) {
      expect_proven(kind, layout);
      if (HasFatalFailure()) FAIL() << "round " << round << ", " << ranks << " ranks";
    }
  }
}

TEST(Layouts, Ring_LeavesEachHostOnce) {
  const Layout layout = interleaved(4, 4);
  for (const ScheduleKind kind : {ScheduleKind::ring, ScheduleKind::grid}) {
    const auto plans = all_plans(kind, Collective::all_reduce, layout);
    // Places 4h .. 4h+3 are host h: rows of the grid stay inside.
    const int leaving = kind == ScheduleKind::ring ? 2 * 15 : 4 * 2 * 3;
    for (const int sent : sent_between_hosts(plans, layout)) EXPECT_EQ(sent, leaving);
  }
}

TEST(Layouts, GridRows_StayWithinRacksOfOneSize) {
  const Layout layout = interleaved(24, 1, 4);
  const auto plans = all_plans(ScheduleKind::grid, Collective::all_reduce, layout);
  for (const Plan& plan : plans) {
    int across = 0;
    for (const int peer : peers_of(plan)) {
      across += layout.level(plan.rank, peer) == kBetweenRacks ? 1 : 0;
    }
    EXPECT_EQ(across, 2);
  }
}

TEST(Hierarchical, HostsOfOneSize_SendNoMoreThanTheirShare) {
  for (const auto& [hosts, each] : {std::pair{4, 4}, {2, 8}, {8, 2}, {5, 3}, {1, 6}, {6, 1}}) {
    const Layout layout = interleaved(hosts, each);
    for (const ScheduleKind kind :
         {ScheduleKind::hierarchical_ring, ScheduleKind::hierarchical_direct,
          ScheduleKind::hierarchical_grid}) {
      expect_proven(kind, layout);
      const auto plans = all_plans(kind, Collective::all_reduce, layout);
      const bool uneven_rows = hosts % best_rows(hosts) != 0;
      if (kind == ScheduleKind::hierarchical_grid && uneven_rows) continue;
      // 2(H-1)/H of hosts * each pieces.
      for (const int sent : sent_between_hosts(plans, layout)) {
        EXPECT_LE(sent, 2 * (hosts - 1) * each) << hosts << " hosts of " << each;
      }
      if (kind == ScheduleKind::hierarchical_ring) {
        EXPECT_EQ(depth_of(plans), 2 * (hosts - 1) + (each > 1 ? 2 : 0));
        EXPECT_LE(most_peers(plans), each - 1 + std::min(2, hosts - 1));
      }
    }
  }
}

TEST(Hierarchical, EveryRank_CarriesARailOfItsOwn) {
  const Layout layout = interleaved(4, 4);
  for (const Plan& plan :
       all_plans(ScheduleKind::hierarchical_ring, Collective::all_reduce, layout)) {
    int leaving = 0;
    for (const Step& step : plan.steps) {
      leaving += step.kind == StepKind::send && layout.level(plan.rank, step.peer) > 0 ? 1 : 0;
    }
    EXPECT_EQ(leaving, 2 * 3);  // four pieces a rail, each sent on by all hosts but one
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

struct Size {
  int ranks;
  int ranks_a_host;
};

// Connections bound what a group can be: printed, and held to what docs/tuning.md says.
TEST(Peers, OfLargeGroups_AreFew) {
  for (const auto& [ranks, each] : {Size{64, 1}, {64, 8}, {1024, 8}, {4096, 8}}) {
    const int hosts = ranks / each;
    const Layout layout = interleaved(hosts, each);
    for (const ScheduleKind kind : kScheduleKinds) {
      const bool direct = kind == ScheduleKind::direct || kind == ScheduleKind::exchange ||
                          kind == ScheduleKind::hierarchical_direct;
      if (direct && ranks > 64) continue;
      std::size_t most = 0;
      std::size_t steps = 0;
      std::string name;
      for (const int rank : {0, 1, ranks / 2 + 1, ranks - 1}) {
        const Plan plan = make_plan(kind, Collective::all_reduce, rank, layout);
        most = std::max(most, peers_of(plan).size());
        steps = std::max(steps, plan.steps.size());
        name = plan.schedule;
      }
      std::printf("%4d ranks, %3d hosts, %-19s: at most %2zu connections a rank, %zu steps\n",
                  ranks, hosts, name.c_str(), most, steps);
      EXPECT_LE(steps, 9 * static_cast<std::size_t>(ranks));
      EXPECT_LE(most, direct ? 63u : 24u);
    }
  }
}

}  // namespace
}  // namespace thinwire::collectives::testing
