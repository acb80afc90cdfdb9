#include "collectives/selection.h"

#include <algorithm>

#include "collectives/schedules/direct.h"
#include "collectives/schedules/exchange.h"
#include "collectives/schedules/grid.h"
#include "collectives/schedules/hierarchical.h"
#include "collectives/schedules/ring.h"
#include "collectives/schedules/tree.h"

namespace thinwire::collectives {

Arithmetic choose_arithmetic(Collective collective, DataType type, int ranks, bool lossy) {
  if (collective == Collective::all_gather || ranks == 1) return Arithmetic::native;
  const bool wide = accumulator_type(type) != type;
  if (lossy) return wide ? Arithmetic::lossy_widened : Arithmetic::lossy_native;
  return wide ? Arithmetic::widened : Arithmetic::native;
}

namespace {

ScheduleKind choose_hierarchical(const EngineOptions& options, const Layout& layout, bool exact) {
  if (!options.grid.empty()) return ScheduleKind::hierarchical_grid;
  if (exact) {
    return layout.hosts() <= kMaxInnerRingHosts ? ScheduleKind::hierarchical_ring
                                                : ScheduleKind::hierarchical_grid;
  }
  return layout.hosts() <= kMaxDirectRanks ? ScheduleKind::hierarchical_direct
                                           : ScheduleKind::hierarchical_grid;
}

// Fewer steps than a ring's and, where sums are rounded on the way, far fewer roundings.
ScheduleKind choose_automatic(const Layout& layout, bool exact, std::size_t vector_bytes) {
  // Two ranks send as much either way, in one step, and what is compressed is so only once.
  if (!exact && layout.ranks() == 2) return ScheduleKind::exchange;
  if (exact && vector_bytes > kMaxExactDirectBytes) return ScheduleKind::ring;
  if (layout.ranks() <= (exact ? kMaxExactDirectRanks : kMaxDirectRanks)) {
    return ScheduleKind::direct;
  }
  return exact ? ScheduleKind::ring : ScheduleKind::grid;
}

}  // namespace

ScheduleKind choose_schedule(const EngineOptions& options, const Layout& layout,
                             Arithmetic arithmetic, std::size_t vector_bytes) {
  const bool exact = arithmetic == Arithmetic::native;
  switch (options.schedule) {
    case SchedulePolicy::ring:
      return ScheduleKind::ring;
    case SchedulePolicy::direct:
      return ScheduleKind::direct;
    case SchedulePolicy::exchange:
      return ScheduleKind::exchange;
    case SchedulePolicy::grid:
      return ScheduleKind::grid;
    case SchedulePolicy::hierarchical:
      return choose_hierarchical(options, layout, exact);
    case SchedulePolicy::tree:
      return ScheduleKind::tree;
    case SchedulePolicy::automatic:
      break;
  }
  return choose_automatic(layout, exact, vector_bytes);
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

int grid_nodes(const EngineOptions& options, const Layout& layout) {
  if (options.grid.empty()) return 0;
  if (options.schedule == SchedulePolicy::grid) return layout.ranks();
  return options.schedule == SchedulePolicy::hierarchical ? layout.hosts() : 0;
}

GridSides grid_of(const EngineOptions& options, const Layout& layout) {
  return grid_nodes(options, layout) > 0 ? options.grid : GridSides{};
}

Plan make_plan(ScheduleKind kind, Collective collective, int rank, const Layout& layout,
               const GridSides& grid) {
  switch (kind) {
    case ScheduleKind::direct:
      return make_direct(collective, rank, layout);
    case ScheduleKind::exchange:
      return make_exchange(collective, rank, layout);
    case ScheduleKind::grid:
      return make_grid(collective, rank, layout, grid);
    case ScheduleKind::tree:
      return make_tree(collective, rank, layout);
    case ScheduleKind::hierarchical_ring:
      return make_hierarchical(collective, rank, layout, InnerSchedule::ring);
    case ScheduleKind::hierarchical_direct:
      return make_hierarchical(collective, rank, layout, InnerSchedule::direct);
    case ScheduleKind::hierarchical_grid:
      return make_hierarchical(collective, rank, layout, InnerSchedule::grid, grid);
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
        peers_of(make_plan(kind, Collective::all_reduce, rank, layout, grid_of(options, layout)));
    peers.insert(peers.end(), named.begin(), named.end());
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace thinwire::collectives
