// Ring: neighbour traffic only, 2(n-1) hops, every link equally loaded. Pure; any thread.
#pragma once

#include "collectives/layout.h"
#include "collectives/plan.h"

namespace thinwire::collectives {

// Requires 0 <= rank < layout.ranks(). Neighbours follow layout.order, so that a message leaves a
// host, or a rack, as rarely as can be. With positions in that order for ranks, pieces travel to
// the right: piece p starts at rank p+1, each rank adds its own input to what it receives, and rank
// p, the last, owns the sum ((x[p+1] + x[p+2]) + ...) + x[p]. Sums are re-encoded at each hop; the
// owner encodes once more and all ranks, itself included, decode those bytes, which are forwarded
// verbatim. Wire slot p belongs to piece p. At most four receives wait at a time.
Plan make_ring(Collective collective, int rank, const Layout& layout);

}  // namespace thinwire::collectives
