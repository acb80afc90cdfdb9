#include "collectives/selection.h"

#include <algorithm>

#include "collectives/candidates.h"
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

ScheduleKind choose_fixed(const EngineOptions& options, const Layout& layout,
                          Arithmetic arithmetic) {
  switch (options.schedule) {
    case SchedulePolicy::direct:
      return ScheduleKind::direct;
    case SchedulePolicy::exchange:
      return ScheduleKind::exchange;
    case SchedulePolicy::grid:
      return ScheduleKind::grid;
    case SchedulePolicy::hierarchical:
      return choose_hierarchical(options, layout, arithmetic == Arithmetic::native);
    case SchedulePolicy::tree:
      return ScheduleKind::tree;
    default:
      return ScheduleKind::ring;
  }
}

}  // namespace

Choice choose(const EngineOptions& options, const Layout& layout, Arithmetic arithmetic,
              std::size_t vector_bytes) {
  if (options.schedule != SchedulePolicy::automatic) {
    return {choose_fixed(options, layout, arithmetic),
            options.piece_bytes == 0 ? kPieceBytes : options.piece_bytes};
  }
  const Candidates all = candidates(options, layout, arithmetic, size_class(vector_bytes));
  const Candidate& best = best_of(all);
  return {best.kind, best.piece_bytes};
}

Choices::Choices(const EngineOptions& options, const Layout& layout) {
  for (std::size_t arithmetic = 0; arithmetic < all_.size(); ++arithmetic) {
    for (std::size_t i = 0; i < kSizeClasses; ++i) {
      all_[arithmetic][i] =
          choose(options, layout, static_cast<Arithmetic>(arithmetic), kLeastSizeClass << i);
    }
  }
}

bool Choices::include(ScheduleKind kind) const {
  for (int arithmetic = 0; arithmetic < kArithmeticCount; ++arithmetic) {
    if (include(kind, static_cast<Arithmetic>(arithmetic))) return true;
  }
  return false;
}

std::size_t Choices::longest_piece(ScheduleKind kind, Arithmetic arithmetic) const {
  std::size_t longest = 0;
  for (const Choice& choice : all_[static_cast<std::size_t>(arithmetic)]) {
    if (choice.schedule == kind) longest = std::max(longest, choice.piece_bytes);
  }
  return longest;
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
  const Choices choices(options, layout);
  std::vector<int> peers;
  for (const ScheduleKind kind : kScheduleKinds) {
    if (!choices.include(kind)) continue;
    const std::vector<int> named =
        peers_of(make_plan(kind, Collective::all_reduce, rank, layout, grid_of(options, layout)));
    peers.insert(peers.end(), named.begin(), named.end());
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace thinwire::collectives
