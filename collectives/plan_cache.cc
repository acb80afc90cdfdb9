#include "collectives/plan_cache.h"

#include <algorithm>
#include <vector>

#include "collectives/staging.h"

namespace thinwire::collectives {
namespace {

std::size_t count_posts_per_peer(const CompiledPlan& plan, int ranks) {
  std::vector<std::size_t> sends(static_cast<std::size_t>(ranks));
  std::vector<std::size_t> receives(static_cast<std::size_t>(ranks));
  std::size_t most = 0;
  for (const CompiledStep& step : plan.steps) {
    if (step.peer < 0) continue;
    std::vector<std::size_t>& posts = step.action == Action::send ? sends : receives;
    most = std::max(most, ++posts[static_cast<std::size_t>(step.peer)]);
  }
  return most;
}

}  // namespace

PlanCache::PlanCache(const EngineOptions& options, int rank, int ranks)
    : layout_(layout_of(options, ranks)),
      codecs_(options.policy, options.compress_min_bytes, layout_) {
  for (const auto collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    for (const auto schedule : kScheduleKinds) {
      if (!may_choose(options, layout_, schedule)) continue;
      const Plan plan = make_plan(schedule, collective, rank, layout_, options.grid);
      for (int a = 0; a < kArithmeticCount; ++a) {
        const auto arithmetic = static_cast<Arithmetic>(a);
        const bool unused = (is_lossy(arithmetic) && !codecs_.lossy()) ||
                            !may_choose(options, layout_, schedule, arithmetic);
        if (unused) continue;
        for (const bool in_place : {false, true}) {
          add(options, plan, schedule, arithmetic, in_place);
        }
      }
    }
  }
}

void PlanCache::add(const EngineOptions& options, const Plan& plan, ScheduleKind schedule,
                    Arithmetic arithmetic, bool in_place) {
  auto compiled = std::make_unique<CompiledPlan>(compile(plan, arithmetic, in_place));
  largest_footprint_ = std::max(
      largest_footprint_, collectives::largest_footprint(*compiled, codecs_, arithmetic,
                                                         bounded_piece_bytes(options, plan.ranks)));
  most_wire_slots_ = std::max(most_wire_slots_, static_cast<std::size_t>(plan.wire_slots));
  most_steps_ = std::max(most_steps_, compiled->steps.size());
  most_posts_per_peer_ =
      std::max(most_posts_per_peer_, count_posts_per_peer(*compiled, plan.ranks));
  plans_[index_of(plan.collective, schedule, arithmetic, in_place)] = std::move(compiled);
}

}  // namespace thinwire::collectives
