// What tests ask of the Plans of a whole group. Pure.
#pragma once

#include <vector>

#include "collectives/selection.h"

namespace thinwire::collectives::testing {

inline constexpr Collective kCollectives[] = {Collective::all_reduce, Collective::all_gather,
                                              Collective::reduce_scatter};

// `each` neighbouring ranks on every host; the last one may have fewer.
Layout hosts_of(int each, int ranks);

// The Plans of all ranks.
std::vector<Plan> all_plans(ScheduleKind kind, Collective collective, const Layout& layout,
                            const GridSides& grid = {});

// The longest chain of messages in which each waits for the one before: a schedule's steps. The
// Plans pass check_plans().
int depth_of(const std::vector<Plan>& plans);

// The most ranks that any of the Plans exchanges messages with.
int most_peers(const std::vector<Plan>& plans);

}  // namespace thinwire::collectives::testing
