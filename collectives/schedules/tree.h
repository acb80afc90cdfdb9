// Tree: every piece has a binomial tree of its own, rooted at its owner. Pure; any thread.
#pragma once

#include <memory>

#include "collectives/layout.h"
#include "collectives/plan.h"
#include "collectives/schedules/routes.h"

namespace thinwire::collectives {

// 2 * ceil(log2 n) steps for any n, messages to the places 1, 2, 4, ... away in Layout::order, the
// nearest first when summing (half of the bytes), last when spreading. All trees together are
// recursive halving and doubling: 2(n-1)/n of the vector a rank. A vector so short that only the
// first piece holds anything (geometry.h) goes up one tree and down again.
std::unique_ptr<Routes> tree_routes(int nodes);

Plan make_tree(Collective collective, int rank, const Layout& layout);

}  // namespace thinwire::collectives
