#include "collectives/selection.h"

#include <algorithm>

#include "collectives/schedules/direct.h"
#include "collectives/schedules/grid.h"
#include "collectives/schedules/ring.h"
#include "collectives/schedules/tree.h"

namespace thinwire::collectives {

Arithmetic choose_arithmetic(Collective collective, DataType type, int ranks, bool lossy) {
  if (collective == Collective::all_gather || ranks == 1) return Arithmetic::native;
  const bool wide = accumulator_type(type) != type;
  if (lossy) return wide ? Arithmetic::lossy_widened : Arithmetic::lossy_native;
  return wide ? Arithmetic::widened : Arithmetic::native;
}

ScheduleKind choose_schedule(const EngineOptions& options, const Layout& layout,
                             Arithmetic arithmetic, std::size_t vector_bytes) {
  switch (options.schedule) {
    case SchedulePolicy::ring:
      return ScheduleKind::ring;
    case SchedulePolicy::direct:
      return ScheduleKind::direct;
    case SchedulePolicy::grid:
      return ScheduleKind::grid;
    case SchedulePolicy::tree:
      return ScheduleKind::tree;
    case SchedulePolicy::automatic:
      break;
  }
  const bool exact = arithmetic == Arithmetic::native;
  if (exact && vector_bytes > kMaxExactDirectBytes) return ScheduleKind::ring;
  return layout.ranks() <= (exact ? kMaxExactDirectRanks : kMaxDirectRanks) ? ScheduleKind::direct
                                                                            : ScheduleKind::ring;
}

bool may_choose(const EngineOptions& options, const Layout& layout, ScheduleKind kind,
                Arithmetic arithmetic) {
  return choose_schedule(options, layout, arithmetic, 0) == kind ||
         choose_schedule(options, layout, arithmetic, kMaxExactDirectBytes + 1) == kind;
}

bool may_choose(const EngineOptions& options, const Layout& layout, ScheduleKind kind) {
  return may_choose(options, layout, kind, Arithmetic::native) ||
         may_choose(options, layout, kind, Arithmetic::widened);
}

Layout layout_of(const EngineOptions& options, int ranks) {
  return options.layout.ranks() == 0 ? flat_layout(ranks) : options.layout;
}

Plan make_plan(ScheduleKind kind, Collective collective, int rank, const Layout& layout,
               const GridSides& grid) {
  switch (kind) {
    case ScheduleKind::direct:
      return make_direct(collective, rank, layout);
    case ScheduleKind::grid:
      return make_grid(collective, rank, layout, grid);
    case ScheduleKind::tree:
      return make_tree(collective, rank, layout);
    case ScheduleKind::ring:
      break;
  }
  return make_ring(collective, rank, layout);
}

std::vector<int> peers_needed(const EngineOptions& options, int rank, int ranks) {
  const Layout layout = layout_of(options, ranks);
  std::vector<int> peers;
  for (const ScheduleKind kind : kScheduleKinds) {
    if (!may_choose(options, layout, kind)) continue;
    const std::vector<int> named =
        peers_of(make_plan(kind, Collective::all_reduce, rank, layout, options.grid));
    peers.insert(peers.end(), named.begin(), named.end());
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace thinwire::collectives
