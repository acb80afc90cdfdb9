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
  const char* refused = "";  // why it is never chosen here; "": it may be
};
using Candidates = std::array<Candidate, kScheduleKinds.size()>;  // in order of kScheduleKinds

// Sums that are rounded as they travel are given schedules alone that round a bounded number of
// times (direct and its kin, up to kMaxDirectRanks ranks or hosts), and above that those that round
// as often as the logarithm or the root of the ranks says: never a ring's n times.
Candidates candidates(const EngineOptions& options, const Layout& layout, Arithmetic arithmetic,
                      std::size_t vector_bytes);

// The fastest that is not refused; of equals the first.
const Candidate& best_of(const Candidates& all);

// The size that the choice is made for: the next power of two, within bounds. So only so many
// schedules can be chosen, and a rank knows its peers.
std::size_t size_class(std::size_t vector_bytes);
inline constexpr std::size_t kLeastSizeClass = 256;
inline constexpr std::size_t kLargestSizeClass = std::size_t{1} << 36;

// What the model is asked. Refers to `options`.
Task task_of(const EngineOptions& options, Arithmetic arithmetic, std::size_t vector_bytes);

}  // namespace thinwire::collectives
