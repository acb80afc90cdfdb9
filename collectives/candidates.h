// Candidates: the schedules that the cost model weighs, and which is the best. Depends only on what
// is equal on all ranks. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>

#include "collectives/cost_model.h"
#include "collectives/engine.h"
#include "collectives/schedule_kind.h"

namespace thinwire::collectives {

struct Candidate {
  ScheduleKind kind{};
  Prediction prediction;
  std::size_t piece_bytes = kPieceBytes;
  const char* refused = "";  // why it is never chosen here; "": it may be
};
using Candidates = std::array<Candidate, kScheduleKinds.size()>;  // in order of kScheduleKinds

// Sums that are rounded as they travel are given schedules alone that round a bounded number of
// times (direct and its kin, up to kMaxDirectRanks ranks or hosts), and above that those that round
// as often as the logarithm or the root of the ranks says: never a ring's n times, but for fp16 on
// few ranks. Where EngineOptions::piece_bytes is 0, each schedule with the best of a few sizes of
// pieces.
Candidates candidates(const EngineOptions& options, const Layout& layout, Arithmetic arithmetic,
                      std::size_t vector_bytes);

// The fastest that is not refused; of those that are nearly as fast the first. A ring is never
// refused to exact sums, nor to all others both direct and tree.
const Candidate& best_of(const Candidates& all);

// What the model is asked. Refers to `options`.
Task task_of(const EngineOptions& options, Arithmetic arithmetic, std::size_t vector_bytes);

}  // namespace thinwire::collectives
