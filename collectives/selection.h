// Selection: which schedule and which arithmetic a Call runs with. Depends only on what is equal
// on all ranks. Pure; any thread.
#pragma once

#include <cstddef>

#include "collectives/compiled_plan.h"
#include "collectives/engine.h"
#include "collectives/schedule_kind.h"

namespace thinwire::collectives {

// `lossy`: some message of the Call travels compressed.
Arithmetic choose_arithmetic(Collective collective, DataType type, int ranks, bool lossy);

// The one place where schedules are chosen. Requires a layout of the group's ranks.
ScheduleKind choose_schedule(const EngineOptions& options, const Layout& layout,
                             Arithmetic arithmetic, std::size_t vector_bytes);

// Whether a Call with this arithmetic, or with any, can be given this schedule.
bool may_choose(const EngineOptions& options, const Layout& layout, ScheduleKind kind,
                Arithmetic arithmetic);
bool may_choose(const EngineOptions& options, const Layout& layout, ScheduleKind kind);

// options.layout, or flat_layout() where it is empty.
Layout layout_of(const EngineOptions& options, int ranks);

// How many nodes EngineOptions::grid must multiply to: the ranks, the hosts where the schedule is
// hierarchical, 0 where no grid is asked for.
int grid_nodes(const EngineOptions& options, const Layout& layout);

// options.grid, or none where no grid is asked for.
GridSides grid_of(const EngineOptions& options, const Layout& layout);

// `grid`: grid_of() the options. It fits the layout.
Plan make_plan(ScheduleKind kind, Collective collective, int rank, const Layout& layout,
               const GridSides& grid = {});

}  // namespace thinwire::collectives
