// Relay: turns Routes into a Plan, with every rule that keeps results bit-identical in one place.
// Pure; any thread.
#pragma once

#include "collectives/layout.h"
#include "collectives/plan.h"
#include "collectives/schedules/routes.h"

namespace thinwire::collectives {

// Accumulator slots of a relay's Plan, at most. Its wire slots: collectives/staging.h.
inline constexpr int kRelayAccumulators = 4;

// Requires routes.nodes() == layout.ranks() and 0 <= rank < layout.ranks(). Each rank sums a piece
// once all its children's partial sums are there: ((first child + own) + second child) + ...; it
// encodes the sum for its parent. The owner encodes once more, and those bytes go down the same
// tree verbatim: all ranks, the owner included, decode them. Wire slot p < n belongs to piece p;
// slots from n on take the partial sums of second and further children. A rank posts receives in
// the order of the rounds, at most four to a peer at a time.
Plan make_relay(const char* name, Collective collective, int rank, const Layout& layout,
                const Routes& routes);

}  // namespace thinwire::collectives
