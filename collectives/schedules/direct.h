// Direct: every rank owns one piece and exchanges with all others in two steps. Pure; any thread.
#pragma once

#include "collectives/layout.h"
#include "collectives/plan.h"

namespace thinwire::collectives {

// Requires 0 <= rank < layout.ranks(); only the levels depend on who is where. Rank p sums piece p
// strictly in rank order, its own contribution exact and in its place, encodes the sum once, and
// all ranks, itself included, decode those bytes: two quantisations whatever n is. Peers are
// visited from rank+1 upwards, so that no rank is everyone's first. Wire slot p < n carries piece p
// out and its sum back; slots from n on hold the contributions to the own piece.
Plan make_direct(Collective collective, int rank, const Layout& layout);

}  // namespace thinwire::collectives
