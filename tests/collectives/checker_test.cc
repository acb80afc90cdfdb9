// The checker rejects Plans that were broken on purpose, and says what is wrong with them.
#include "collectives/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "tests/collectives/plans.h"

namespace thinwire::collectives {
namespace {

using ::testing::HasSubstr;

std::vector<Plan> plans_of(ScheduleKind kind, Collective collective, int ranks) {
  return testing::all_plans(kind, collective, flat_layout(ranks));
}

// The n-th step of a kind.
Step& find(Plan& plan, StepKind kind, int n = 0) {
  for (Step& step : plan.steps) {
    if (step.kind == kind && n-- == 0) return step;
  }
  throw std::logic_error("no such step");
}

// Copies `plan` without step `index`; who waited for it waits for what it waited for.
Plan without(const Plan& plan, std::size_t index) {
  Plan result = plan;
  result.steps.clear();
  result.dependencies.clear();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (i == index) continue;
    Step step = plan.steps[i];
    std::vector<StepIndex> after;
    for (const StepIndex dependency : plan.dependencies_of(step)) {
      if (dependency != static_cast<StepIndex>(index)) {
        after.push_back(dependency);
        continue;
      }
      const auto inherited = plan.dependencies_of(plan.steps[index]);
      after.insert(after.end(), inherited.begin(), inherited.end());
    }
    step.first_dependency = static_cast<std::int32_t>(result.dependencies.size());
    step.dependency_count = static_cast<std::int32_t>(after.size());
    for (const StepIndex dependency : after) {
      const bool later = dependency > static_cast<StepIndex>(index);
      result.dependencies.push_back(later ? dependency - 1 : dependency);
    }
    result.steps.push_back(step);
  }
  return result;
}

// Moves dependency lists so that one dependency of one step disappears.
Plan without_dependency(const Plan& plan, std::size_t step_index, int which) {
  Plan result = plan;
  Step& step = result.steps[step_index];
  std::vector<StepIndex> kept;
  for (int i = 0; i < step.dependency_count; ++i) {
    if (i != which) {
      kept.push_back(plan.dependencies[static_cast<std::size_t>(step.first_dependency + i)]);
    }
  }
  step.first_dependency = static_cast<std::int32_t>(result.dependencies.size());
  step.dependency_count = static_cast<std::int32_t>(kept.size());
  result.dependencies.insert(result.dependencies.end(), kept.begin(), kept.end());
  return result;
}

// Puts `extra` after step `index`, one after the other; who waited for that step waits for them.
Plan with_inserted(const Plan& plan, std::size_t index, const std::vector<Step>& extra) {
  Plan result = plan;
  result.steps.clear();
  result.dependencies.clear();
  const auto add = [&](Step step, const std::vector<StepIndex>& after) {
    step.first_dependency = static_cast<std::int32_t>(result.dependencies.size());
    step.dependency_count = static_cast<std::int32_t>(after.size());
    result.dependencies.insert(result.dependencies.end(), after.begin(), after.end());
    result.steps.push_back(step);
  };
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    std::vector<StepIndex> after;
    for (const StepIndex dependency : plan.dependencies_of(plan.steps[i])) {
      const bool shifted = dependency >= static_cast<StepIndex>(index);
      after.push_back(dependency + (shifted ? static_cast<StepIndex>(extra.size()) : 0));
    }
    add(plan.steps[i], after);
    if (i != index) continue;
    for (const Step& step : extra) add(step, {static_cast<StepIndex>(result.steps.size() - 1)});
  }
  for (const Step& step : extra) {
    result.acc_slots = std::max(result.acc_slots, step.acc + 1);
  }
  return result;
}

struct Mutation {
  const char* name;
  ScheduleKind kind;
  Collective collective;
  std::function<void(std::vector<Plan>&)> apply;
  const char* complaint;
};
void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

class CheckerMutation : public ::testing::TestWithParam<Mutation> {};

TEST_P(CheckerMutation, BrokenPlan_IsRejectedWithItsReason) {
  const Mutation& mutation = GetParam();
  std::vector<Plan> plans = plans_of(mutation.kind, mutation.collective, 4);
  ASSERT_EQ(check_plans(plans), "");
  mutation.apply(plans);
  EXPECT_THAT(check_plans(plans), HasSubstr(mutation.complaint));
}

std::size_t index_of(Plan& plan, StepKind kind, int n = 0) {
  return static_cast<std::size_t>(&find(plan, kind, n) - plan.steps.data());
}

constexpr auto kRing = ScheduleKind::ring;
constexpr auto kDirect = ScheduleKind::direct;
constexpr auto kAllReduce = Collective::all_reduce;

const Mutation kMutations[] = {
    {"ContributionMissing", kDirect, kAllReduce,
     [](auto& plans) { plans[1] = without(plans[1], index_of(plans[1], StepKind::add_input)); },
     "holds rank 1's contribution 0 times"},
    {"ContributionTwice", kRing, kAllReduce,
     [](auto& plans) {
       const std::size_t add = index_of(plans[2], StepKind::add_input, 1);
       plans[2] = with_inserted(plans[2], add, {plans[2].steps[add]});
     },
     "holds rank 2's contribution 2 times"},
    {"MessageOfAnotherNumber", kRing, kAllReduce,
     [](auto& plans) { find(plans[0], StepKind::send, 1).message = 77; }, "never runs"},
    {"MessageNumberTwice", kRing, kAllReduce,
     [](auto& plans) {
       find(plans[0], StepKind::send, 1).message = find(plans[0], StepKind::send, 0).message;
     },
     "used twice"},
    {"SendWithoutReceive", kDirect, Collective::all_gather,
     [](auto& plans) {
       Plan& plan = plans[3];
       plan = without(plan, index_of(plan, StepKind::decode));
       plan = without(plan, index_of(plan, StepKind::receive));
     },
     "never received"},
    {"ReceiveWithoutSend", kDirect, kAllReduce,
     [](auto& plans) { plans[0] = without(plans[0], index_of(plans[0], StepKind::send, 4)); },
     "never runs"},
    {"WrongPiece", kDirect, kAllReduce,
     [](auto& plans) {
       Plan& plan = plans[0];
       find(plan, StepKind::encode_input, 0).piece = find(plan, StepKind::encode_input, 1).piece;
     },
     "another piece"},
    {"SendsBeforeItIsEncoded", kDirect, kAllReduce,
     [](auto& plans) {
       plans[1] = without_dependency(plans[1], index_of(plans[1], StepKind::send), 0);
     },
     "without waiting"},
    {"SlotOverwrittenWhileSending", kDirect, kAllReduce,
     [](auto& plans) {
       plans[1] = without_dependency(plans[1], index_of(plans[1], StepKind::receive, 3), 0);
     },
     "overwritten while live"},
    {"AccumulatorOverwritten", kRing, kAllReduce,
     [](auto& plans) {
       plans[1] = without_dependency(plans[1], index_of(plans[1], StepKind::load_wire, 1), 1);
     },
     "overwritten while live"},
    {"ReadBeforeWritten", kDirect, kAllReduce,
     [](auto& plans) { find(plans[2], StepKind::load_wire).kind = StepKind::add_wire; },
     "read before it is written"},
    {"OwnerKeepsItsExactSum", kDirect, kAllReduce,
     [](auto& plans) {
       Step& own = find(plans[3], StepKind::decode);
       own.kind = StepKind::store_acc;
       own.wire = -1;
       own.acc = 0;
     },
     "rounding differ"},
    {"ForwarderReencodes", kRing, kAllReduce,
     [](auto& plans) {
       // Rank 2 receives the sum of piece 1, and passes on its own encoding of it.
       const std::size_t receive = index_of(plans[2], StepKind::receive, 3);
       const Step& received = plans[2].steps[receive];
       Step load{.piece = received.piece, .wire = received.wire, .acc = 1};
       load.kind = StepKind::load_wire;
       Step encode = load;
       encode.kind = StepKind::encode_acc;
       plans[2] = with_inserted(plans[2], receive, {load, encode});
     },
     "rounding differ"},
    {"OutputWrittenTwice", kDirect, Collective::all_gather,
     [](auto& plans) {
       Step& copy = find(plans[0], StepKind::copy_input);
       plans[0].steps.push_back(copy);
     },
     "written twice"},
    {"OutputNeverWritten", kRing, Collective::reduce_scatter,
     [](auto& plans) {
       Plan& plan = plans[0];
       Step& store = find(plan, StepKind::store_acc);
       store.kind = StepKind::encode_acc;
       store.wire = plan.wire_slots++;
     },
     "written and never read"},
    {"UnsafeInPlace", kDirect, kAllReduce,
     [](auto& plans) {
       // The sum of piece 1 lands in a slot of its own, so nothing holds it back any more.
       Plan& plan = plans[0];
       const std::size_t receive = index_of(plan, StepKind::receive, 3);
       const std::int32_t slot = plan.wire_slots++;
       find(plan, StepKind::decode, 1).wire = slot;
       plan.steps[receive].wire = slot;
       plan = without_dependency(plan, receive, 0);
     },
     "may write output"},
    {"PeersWaitForEachOther", kDirect, Collective::all_gather,
     [](auto& plans) {
       for (Plan& plan : plans) {
         // Sends only after having received from everyone.
         const auto last = static_cast<StepIndex>(index_of(plan, StepKind::receive, 2));
         std::vector<Step> sends;
         for (const Step& step : plan.steps) {
           if (step.kind == StepKind::send) sends.push_back(step);
         }
         for (std::size_t i = plan.steps.size(); i-- > 0;) {
           if (plan.steps[i].kind == StepKind::send) plan = without(plan, i);
         }
         for (Step step : sends) {
           step.first_dependency = static_cast<std::int32_t>(plan.dependencies.size());
           step.dependency_count = 2;
           plan.dependencies.push_back(1);
           plan.dependencies.push_back(last - 3);
           plan.steps.push_back(step);
         }
       }
     },
     "never runs"},
    {"DependsOnALaterStep", kRing, kAllReduce,
     [](auto& plans) {
       Plan& plan = plans[0];
       plan.dependencies[static_cast<std::size_t>(find(plan, StepKind::send).first_dependency)] =
           static_cast<StepIndex>(plan.steps.size() - 1);
     },
     "depends on a later step"},
};

INSTANTIATE_TEST_SUITE_P(All, CheckerMutation, ::testing::ValuesIn(kMutations),
                         [](const auto& the_case) { return std::string(the_case.param.name); });

// Whichever single step is left out, of whichever rank, the Plans no longer hold together.
TEST(Checker, AnyStepLeftOut_IsNoticed) {
  for (const ScheduleKind kind : kScheduleKinds) {
    for (const Collective collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
      const std::vector<Plan> good = plans_of(kind, collective, 4);
      for (std::size_t i = 0; i < good[2].steps.size(); ++i) {
        std::vector<Plan> plans = good;
        plans[2] = without(good[2], i);
        EXPECT_NE(check_plans(plans), "") << step_text(good[2], static_cast<StepIndex>(i));
      }
    }
  }
}

// Every dependency is there for a reason, but for those that only pace the receives.
TEST(Checker, AnyOrderingDependencyLeftOut_IsNoticed) {
  for (const ScheduleKind kind : kScheduleKinds) {
    const std::vector<Plan> good = plans_of(kind, Collective::all_reduce, 3);
    for (std::size_t i = 0; i < good[1].steps.size(); ++i) {
      for (int d = 0; d < good[1].steps[i].dependency_count; ++d) {
        const StepIndex on = good[1].dependencies_of(good[1].steps[i])[static_cast<std::size_t>(d)];
        const bool paces = good[1].steps[i].kind == StepKind::receive &&
                           good[1].steps[static_cast<std::size_t>(on)].kind == StepKind::receive;
        if (paces) continue;
        std::vector<Plan> plans = good;
        plans[1] = without_dependency(good[1], i, d);
        EXPECT_NE(check_plans(plans), "") << step_text(good[1], static_cast<StepIndex>(i));
      }
    }
  }
}

TEST(Checker, AnyOtherLevel_IsNoticed) {
  const Layout layout = make_layout(std::vector<std::uint64_t>{1, 1, 2, 2});
  for (const ScheduleKind kind : kScheduleKinds) {
    const auto good = testing::all_plans(kind, Collective::all_reduce, layout);
    ASSERT_EQ(check_levels(good, layout), "");
    for (std::size_t i = 0; i < good[1].steps.size(); ++i) {
      std::vector<Plan> plans = good;
      ++plans[1].steps[i].level;
      EXPECT_THAT(check_levels(plans, layout), HasSubstr("the level should be"));
    }
  }
}

TEST(Checker, ForeignGroup_IsRejected) {
  std::vector<Plan> plans = plans_of(kRing, kAllReduce, 3);
  plans[1] = make_plan(kRing, kAllReduce, 1, flat_layout(4));
  EXPECT_THAT(check_plans(plans), HasSubstr("another rank, group or collective"));
  EXPECT_NE(check_plans({}), "");
}

}  // namespace
}  // namespace thinwire::collectives
