// PlanCache: the CompiledPlans that an Engine runs, each made when it is first asked for. Owner:
// the Engine.
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

  const Layout& layout() const { return layout_; }
  const CodecSet& codecs() const { return codecs_; }
  const Choices& choices() const { return choices_; }

  // The Plan of a combination that selection.h can choose under the options given. The first time,
  // this takes time and memory linear in the number of ranks (a millisecond for a thousand).
  const CompiledPlan& get(Collective collective, ScheduleKind schedule, Arithmetic arithmetic,
                          bool in_place);

 private:
  static constexpr std::size_t kCollectives = 3;

  const int rank_;
  const Layout layout_;
  const GridSides grid_;
  const CodecSet codecs_;
  const Choices choices_;
  std::array<std::unique_ptr<CompiledPlan>,
             kCollectives * kScheduleKinds.size() * kArithmeticCount * 2>
      plans_;
};

}  // namespace thinwire::collectives
