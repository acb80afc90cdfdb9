// Selection: which schedule and which arithmetic a Call runs with. Depends only on what is equal
// on all ranks. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>

#include "collectives/compiled_plan.h"
#include "collectives/engine.h"

namespace thinwire::collectives {

enum class ScheduleKind : std::uint8_t { ring, direct, grid, tree };
inline constexpr std::array kScheduleKinds{ScheduleKind::ring, ScheduleKind::direct,
                                           ScheduleKind::grid, ScheduleKind::tree};

// A codec applies to the sums of all_reduce and reduce_scatter, in float32, float16 and bfloat16,
// of at least compress_min_bytes in all and two ranks.
Arithmetic choose_arithmetic(const EngineOptions& options, Collective collective, DataType type,
                             ReduceOp op, std::size_t vector_bytes, int ranks);

// The one place where schedules are chosen. Requires a layout of the group's ranks.
ScheduleKind choose_schedule(const EngineOptions& options, const Layout& layout,
                             Arithmetic arithmetic, std::size_t vector_bytes);

// Whether a Call with this arithmetic, or with any, can be given this schedule.
bool may_choose(const EngineOptions& options, const Layout& layout, ScheduleKind kind,
                Arithmetic arithmetic);
bool may_choose(const EngineOptions& options, const Layout& layout, ScheduleKind kind);

// options.layout, or flat_layout() where it is empty.
Layout layout_of(const EngineOptions& options, int ranks);

// `grid`: EngineOptions::grid; fits the layout.
Plan make_plan(ScheduleKind kind, Collective collective, int rank, const Layout& layout,
               const GridSides& grid = {});

}  // namespace thinwire::collectives
