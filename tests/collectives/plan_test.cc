// Plans as built: their sizes, peers and choice, and dumps against golden texts.
#include "collectives/plan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "collectives/schedules/direct.h"
#include "collectives/schedules/ring.h"
#include "tests/collectives/plans.h"

namespace thinwire::collectives {
namespace {

using testing::hosts_of;
using testing::kCollectives;

TEST(PlanSize, LargeRing_IsLinearInRanks) {
  const Plan plan = make_ring(Collective::all_reduce, 17, flat_layout(4096));
  EXPECT_LT(plan.steps.size(), 8u * 4096);
  EXPECT_EQ(peers_of(plan), (std::vector<int>{16, 18}));
  EXPECT_EQ(plan.wire_slots, 4096);
  EXPECT_EQ(plan.acc_slots, 1);
}

TEST(PlanSize, DirectSends_TwoMessagesToEachPeer) {
  const Plan plan = make_direct(Collective::all_reduce, 3, flat_layout(8));
  int sends = 0;
  for (const Step& step : plan.steps) sends += step.kind == StepKind::send ? 1 : 0;
  EXPECT_EQ(sends, 14);
  EXPECT_EQ(peers_of(plan).size(), 7u);
}

TEST(PlanPeers, Needed_IsSymmetricAndHoldsEveryPlansPeers) {
  for (const SchedulePolicy policy :
       {SchedulePolicy::automatic, SchedulePolicy::ring, SchedulePolicy::direct,
        SchedulePolicy::exchange, SchedulePolicy::grid, SchedulePolicy::hierarchical,
        SchedulePolicy::tree}) {
    for (const int ranks : {1, 2, 3, 8, 9, 64, 65}) {
      EngineOptions options;
      options.schedule = policy;
      const Layout layout = flat_layout(ranks);
      std::vector<std::vector<bool>> needs(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        auto& row = needs[static_cast<std::size_t>(rank)];
        row.resize(static_cast<std::size_t>(ranks));
        for (const int peer : peers_needed(options, rank, ranks)) {
          row[static_cast<std::size_t>(peer)] = true;
        }
        for (int a = 0; a < kArithmeticCount; ++a) {
          for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 30}) {
            const ScheduleKind kind =
                choose_schedule(options, layout, static_cast<Arithmetic>(a), bytes);
            for (const Collective collective : kCollectives) {
              for (const int peer : peers_of(make_plan(kind, collective, rank, layout))) {
                EXPECT_TRUE(row[static_cast<std::size_t>(peer)]) << rank << " needs " << peer;
              }
            }
          }
        }
      }
      for (std::size_t a = 0; a < needs.size(); ++a) {
        for (std::size_t b = 0; b < needs.size(); ++b) EXPECT_EQ(needs[a][b], needs[b][a]);
      }
    }
  }
}

TEST(PlanChoice, Automatic_FollowsRanksArithmeticAndSize) {
  const auto choose = [](Arithmetic arithmetic, int ranks, std::size_t bytes = 1024) {
    return choose_schedule({}, flat_layout(ranks), arithmetic, bytes);
  };
  constexpr std::size_t kLong = std::size_t{1} << 30;
  EXPECT_EQ(choose(Arithmetic::native, 4, kLong), ScheduleKind::ring);
  EXPECT_EQ(choose(Arithmetic::lossy_native, 4, kLong), ScheduleKind::direct);
  EXPECT_EQ(choose(Arithmetic::lossy_native, 2, 4096), ScheduleKind::exchange);
  EXPECT_EQ(choose(Arithmetic::native, 65), ScheduleKind::tree);
  EXPECT_EQ(choose(Arithmetic::lossy_native, 64, kLong), ScheduleKind::direct);
  EXPECT_NE(choose(Arithmetic::lossy_native, 65, kLong), ScheduleKind::direct);
}

class PlanGolden : public ::testing::TestWithParam<const char*> {};

// Regenerate: the text in a failure is the file.
TEST_P(PlanGolden, Dump_MatchesItsFile) {
  std::istringstream name(GetParam());
  std::string schedule, collective_name, rank, ranks;
  std::getline(name, schedule, '-');
  std::getline(name, collective_name, '-');
  std::getline(name, rank, '-');
  std::getline(name, ranks, '-');
  const Collective collective = collective_name == "all_reduce"   ? Collective::all_reduce
                                : collective_name == "all_gather" ? Collective::all_gather
                                                                  : Collective::reduce_scatter;
  const std::map<std::string, ScheduleKind> kinds = {
      {"ring", ScheduleKind::ring},         {"direct", ScheduleKind::direct},
      {"exchange", ScheduleKind::exchange}, {"grid", ScheduleKind::grid},
      {"tree", ScheduleKind::tree},         {"hierarchical", ScheduleKind::hierarchical_ring}};
  const int of = std::stoi(ranks);
  const Layout layout = schedule == "hierarchical" ? hosts_of(2, of) : flat_layout(of);
  std::ifstream file(std::string(THINWIRE_GOLDEN_DIR) + "/" + GetParam() + ".txt");
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(to_text(make_plan(kinds.at(schedule), collective, std::stoi(rank), layout)),
            expected.str());
}

INSTANTIATE_TEST_SUITE_P(
    Files, PlanGolden,
    ::testing::Values("ring-all_reduce-0-1", "ring-all_reduce-1-2", "ring-all_reduce-2-4",
                      "ring-all_gather-0-3", "ring-reduce_scatter-1-3", "direct-all_reduce-0-2",
                      "direct-all_reduce-1-4", "direct-all_gather-2-3", "direct-reduce_scatter-1-3",
                      "exchange-all_reduce-1-3", "grid-all_reduce-2-6", "grid-all_gather-3-5",
                      "tree-all_reduce-1-4", "tree-reduce_scatter-0-5",
                      "hierarchical-all_reduce-3-6", "hierarchical-all_gather-0-5"));

}  // namespace
}  // namespace thinwire::collectives
