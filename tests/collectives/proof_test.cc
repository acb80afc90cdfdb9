// Every schedule and collective, proven by the checker for 1 to 128 ranks.
#include <gtest/gtest.h>

#include "collectives/checker.h"
#include "collectives/schedules/exchange.h"
#include "tests/collectives/plans.h"

namespace thinwire::collectives::testing {
namespace {

class PlanProof : public ::testing::TestWithParam<int> {};

TEST_P(PlanProof, EveryBuilder_PassesTheChecker) {
  const int ranks = GetParam();
  for (const ScheduleKind kind : kScheduleKinds) {
    // Above that it is direct.
    if (kind == ScheduleKind::exchange && ranks > kMaxExchangeRanks + 1) continue;
    for (const Collective collective : kCollectives) {
      // Hosts of three where hosts matter.
      const Layout layout = is_hierarchical(kind) ? hosts_of(3, ranks) : flat_layout(ranks);
      EXPECT_EQ(check_plans(all_plans(kind, collective, layout)), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PlanProof, ::testing::Range(1, 129));

}  // namespace
}  // namespace thinwire::collectives::testing
