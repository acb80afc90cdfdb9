#include "collectives/plan_cache.h"

namespace thinwire::collectives {

PlanCache::PlanCache(const EngineOptions& options, int rank, int ranks)
    : rank_(rank),
      layout_(layout_of(options, ranks)),
      grid_(grid_of(options, layout_)),
      codecs_(options.policy, options.compress_min_bytes, layout_),
      choices_(options, layout_) {}

const CompiledPlan& PlanCache::get(Collective collective, ScheduleKind schedule,
                                   Arithmetic arithmetic, bool in_place) {
  std::size_t index = static_cast<std::size_t>(collective);
  index = index * kScheduleKinds.size() + static_cast<std::size_t>(schedule);
  index = index * kArithmeticCount + static_cast<std::size_t>(arithmetic);
  std::unique_ptr<CompiledPlan>& plan = plans_[index * 2 + (in_place ? 1 : 0)];
  if (!plan) {
    plan = std::make_unique<CompiledPlan>(
        compile(make_plan(schedule, collective, rank_, layout_, grid_), arithmetic, in_place));
  }
  return *plan;
}

}  // namespace thinwire::collectives
