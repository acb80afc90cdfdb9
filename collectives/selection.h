// Selection: which schedule, which pieces and which arithmetic a Call runs with. Depends only on
// what is equal on all ranks. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>

#include "collectives/compiled_plan.h"
#include "collectives/engine.h"
#include "collectives/schedule_kind.h"
#include "collectives/size_class.h"

namespace thinwire::collectives {

// `lossy`: some message of the Call travels compressed.
Arithmetic choose_arithmetic(Collective collective, DataType type, int ranks, bool lossy);

struct Choice {
  ScheduleKind schedule{};
  std::size_t piece_bytes = kPieceBytes;  // as asked for or chosen; see bounded_piece_bytes()
};

// The one place where schedules are chosen. Requires a layout of the group's ranks. Where the
// schedule is automatic this weighs them all anew (candidates.h): some ten microseconds.
Choice choose(const EngineOptions& options, const Layout& layout, Arithmetic arithmetic,
              std::size_t vector_bytes);
inline ScheduleKind choose_schedule(const EngineOptions& options, const Layout& layout,
                                    Arithmetic arithmetic, std::size_t vector_bytes) {
  return choose(options, layout, arithmetic, vector_bytes).schedule;
}

// What choose() says for every arithmetic and size, found once for all Calls of a group. Immutable.
class Choices {
 public:
  Choices(const EngineOptions& options, const Layout& layout);

  const Choice& of(Arithmetic arithmetic, std::size_t vector_bytes) const {
    return all_[static_cast<std::size_t>(arithmetic)][size_class_index(vector_bytes)];
  }
  // Whether a Call with this arithmetic, or with any, can be given this schedule.
  bool include(ScheduleKind kind, Arithmetic arithmetic) const {
    return longest_piece(kind, arithmetic) > 0;
  }
  bool include(ScheduleKind kind) const;
  // The longest pieces that such a Call can be given; 0: there is none.
  std::size_t longest_piece(ScheduleKind kind, Arithmetic arithmetic) const;

 private:
  std::array<std::array<Choice, kSizeClasses>, kArithmeticCount> all_;
};

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
