// Selection: which schedule and which arithmetic a Call runs with. Depends only on what is equal
// on all ranks. Pure; any thread.
#pragma once

#include <cstddef>

#include "collectives/compiled_plan.h"
#include "collectives/engine.h"

namespace thinwire::collectives {

enum class ScheduleKind : std::uint8_t { ring, direct };
inline constexpr int kScheduleKindCount = 2;

// A codec applies to the sums of all_reduce and reduce_scatter, in float32, float16 and bfloat16,
// of at least compress_min_bytes in all and two ranks.
Arithmetic choose_arithmetic(const EngineOptions& options, Collective collective, DataType type,
                             ReduceOp op, std::size_t vector_bytes, int ranks);

ScheduleKind choose_schedule(SchedulePolicy policy, Arithmetic arithmetic, int ranks,
                             std::size_t vector_bytes);

// Whether a Call with this arithmetic, or with any, can be given this schedule.
bool may_choose(SchedulePolicy policy, ScheduleKind kind, Arithmetic arithmetic, int ranks);
bool may_choose(SchedulePolicy policy, ScheduleKind kind, int ranks);

Plan make_plan(ScheduleKind kind, Collective collective, int rank, int ranks);

}  // namespace thinwire::collectives
