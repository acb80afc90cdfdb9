#include "collectives/plan_builder.h"

#include <algorithm>
#include <utility>

#include "collectives/value_flow.h"

namespace thinwire::collectives {

PlanBuilder::PlanBuilder(const char* schedule, Collective collective, int rank,
                         const Layout& layout)
    : layout_(layout) {
  plan_.schedule = schedule;
  plan_.collective = collective;
  plan_.rank = rank;
  plan_.ranks = layout.ranks();
  plan_.pieces = layout.ranks();
}

StepIndex PlanBuilder::add(Step step, std::span<const StepIndex> after) {
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

Plan PlanBuilder::finish(int first_gather_message) {
  const ValueFlow flow = analyse(plan_);
  std::vector<int> levels(flow.values.size(), kWithinHost);
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (step.peer < 0) continue;
    int& level = levels[static_cast<std::size_t>(flow.value_of[i])];
    const bool for_all = step.message >= first_gather_message;
    level = std::max(level, for_all ? layout_.widest : layout_.level(plan_.rank, step.peer));
  }
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const std::int32_t value = flow.value_of[i];
    if (value == kNone) continue;
    plan_.steps[i].level = levels[static_cast<std::size_t>(value)];
  }
  return std::move(plan_);
}

}  // namespace thinwire::collectives
