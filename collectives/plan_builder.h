// PlanBuilder: collects the steps of a Plan. Owner: one schedule function; one thread.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "collectives/plan.h"

namespace thinwire::collectives {

inline constexpr StepIndex kNoStep = -1;

class PlanBuilder {
 public:
  PlanBuilder(const char* schedule, Collective collective, int rank, int ranks) {
    plan_.schedule = schedule;
    plan_.collective = collective;
    plan_.rank = rank;
    plan_.ranks = ranks;
    plan_.pieces = ranks;
  }

  // Appends `step`, to run after `after` (kNoStep entries are left out); returns its index.
  StepIndex add(Step step, std::initializer_list<StepIndex> after = {}) {
    step.first_dependency = static_cast<std::int32_t>(plan_.dependencies.size());
    for (const StepIndex dependency : after) {
      if (dependency != kNoStep) plan_.dependencies.push_back(dependency);
    }
    step.dependency_count =
        static_cast<std::int32_t>(plan_.dependencies.size()) - step.first_dependency;
    plan_.wire_slots = std::max(plan_.wire_slots, step.wire + 1);
    plan_.acc_slots = std::max(plan_.acc_slots, step.acc + 1);
    plan_.steps.push_back(step);
    return static_cast<StepIndex>(plan_.steps.size() - 1);
  }

  Plan finish() { return std::move(plan_); }

 private:
  Plan plan_;
};

// The frame all schedules share. A Schedule is made from (PlanBuilder&, rank, ranks) and has
//   StepIndex reduce(): sums piece `rank` into accumulator 0; returns the last addition;
//   void gather(StepIndex own, int first_message): sends wire slot `rank`, ready after `own`, to
//     everyone and decodes the pieces of all others, with messages from first_message on;
//   int reduce_messages() const: how many message numbers reduce() took.
// A lone rank's Plan is a copy, whatever the collective.
template <class Schedule>
Plan compose(const char* name, Collective collective, int rank, int ranks) {
  PlanBuilder builder(name, collective, rank, ranks);
  const std::int32_t own = rank;
  if (ranks == 1) {
    builder.add({.kind = StepKind::copy_input, .piece = own});
    return builder.finish();
  }
  Schedule schedule(builder, rank, ranks);
  if (collective == Collective::all_gather) {
    builder.add({.kind = StepKind::copy_input, .piece = own});
    schedule.gather(builder.add({.kind = StepKind::encode_input, .piece = own, .wire = own}), 0);
    return builder.finish();
  }
  const StepIndex summed = schedule.reduce();
  if (collective == Collective::reduce_scatter) {
    builder.add({.kind = StepKind::store_acc, .piece = own, .acc = 0}, {summed});
    return builder.finish();
  }
  const StepIndex encoded =
      builder.add({.kind = StepKind::encode_acc, .piece = own, .wire = own, .acc = 0}, {summed});
  builder.add({.kind = StepKind::decode, .piece = own, .wire = own}, {encoded});
  schedule.gather(encoded, schedule.reduce_messages());
  return builder.finish();
}

}  // namespace thinwire::collectives
