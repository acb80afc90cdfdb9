// Hierarchical: reduce inside the host, between hosts, and back. Pure; any thread.
#pragma once

#include <memory>

#include "collectives/layout.h"
#include "collectives/plan.h"
#include "collectives/schedules/routes.h"

namespace thinwire::collectives {

// What the hosts run among themselves.
enum class InnerSchedule : std::uint8_t { ring, direct, grid };

// On every host but the owner's, one rank stands for the host in a piece's tree, another one for
// every piece: its place among the host's ranks is (the owner's place in Layout::order) mod (ranks
// on the host), which makes L rails of hosts with L ranks each. The host's other ranks send it
// their contributions; the ranks that stand for their hosts run `inner` with hosts in place of
// ranks, in the order of the layout. With H hosts of equally many ranks, a host sends 2(H-1)/H of
// the vector to others. Hosts may have different numbers of ranks; one host, or one rank a host,
// degenerate to what is left. `grid`: the sides of InnerSchedule::grid; they multiply to the number
// of hosts, or are empty: chosen as for ranks.
std::unique_ptr<Routes> hierarchical_routes(const Layout& layout, InnerSchedule inner,
                                            const GridSides& grid = {});

Plan make_hierarchical(Collective collective, int rank, const Layout& layout, InnerSchedule inner,
                       const GridSides& grid = {});

}  // namespace thinwire::collectives
