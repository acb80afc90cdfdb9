// ScheduleKind: the schedules that a Call can be given. Values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace thinwire::collectives {

// A policy and, for hierarchical, what the hosts run among themselves.
enum class ScheduleKind : std::uint8_t {
  ring,
  direct,
  exchange,
  grid,
  tree,
  hierarchical_ring,
  hierarchical_direct,
  hierarchical_grid
};
inline constexpr std::array kScheduleKinds{ScheduleKind::ring,
                                           ScheduleKind::direct,
                                           ScheduleKind::exchange,
                                           ScheduleKind::grid,
                                           ScheduleKind::tree,
                                           ScheduleKind::hierarchical_ring,
                                           ScheduleKind::hierarchical_direct,
                                           ScheduleKind::hierarchical_grid};
inline constexpr std::array<std::string_view, kScheduleKinds.size()> kScheduleNames{
    "ring",
    "direct",
    "exchange",
    "grid",
    "tree",
    "hierarchical ring",
    "hierarchical direct",
    "hierarchical grid"};

constexpr std::string_view name_of(ScheduleKind kind) {
  return kScheduleNames[static_cast<std::size_t>(kind)];
}
constexpr bool is_hierarchical(ScheduleKind kind) {
  return kind >= ScheduleKind::hierarchical_ring;
}

}  // namespace thinwire::collectives
