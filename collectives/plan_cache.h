// PlanCache: every CompiledPlan that an Engine can be asked to run, made once. Owner: the Engine.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "collectives/codec_set.h"
#include "collectives/compiled_plan.h"
#include "collectives/engine.h"
#include "collectives/selection.h"

namespace thinwire::collectives {

class PlanCache {
 public:
  PlanCache(const EngineOptions& options, int rank, int ranks);

  // The Plan of a combination that selection.h can choose under the options given.
  const CompiledPlan& get(Collective collective, ScheduleKind schedule, Arithmetic arithmetic,
                          bool in_place) const {
    return *plans_[index_of(collective, schedule, arithmetic, in_place)];
  }

  const Layout& layout() const { return layout_; }
  const CodecSet& codecs() const { return codecs_; }

  // Bytes of staging that the most demanding Plan takes for one tile.
  std::size_t largest_footprint() const { return largest_footprint_; }
  std::size_t most_steps() const { return most_steps_; }
  std::size_t most_wire_slots() const { return most_wire_slots_; }
  // Most sends to, or receives from, one peer in one tile.
  std::size_t most_posts_per_peer() const { return most_posts_per_peer_; }

 private:
  static constexpr std::size_t kCollectives = 3;
  static std::size_t index_of(Collective collective, ScheduleKind schedule, Arithmetic arithmetic,
                              bool in_place) {
    std::size_t index = static_cast<std::size_t>(collective);
    index = index * kScheduleKinds.size() + static_cast<std::size_t>(schedule);
    index = index * kArithmeticCount + static_cast<std::size_t>(arithmetic);
    return index * 2 + (in_place ? 1 : 0);
  }
  void add(const EngineOptions& options, const Plan& plan, ScheduleKind schedule,
           Arithmetic arithmetic, bool in_place);

  const Layout layout_;
  const CodecSet codecs_;
  std::array<std::unique_ptr<CompiledPlan>,
             kCollectives * kScheduleKinds.size() * kArithmeticCount * 2>
      plans_;
  std::size_t largest_footprint_ = 0;
  std::size_t most_steps_ = 0;
  std::size_t most_wire_slots_ = 0;
  std::size_t most_posts_per_peer_ = 0;
};

}  // namespace thinwire::collectives
