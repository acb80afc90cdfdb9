// Exchange: every rank sends its contribution to all others, and all sum everything. Pure; any
// thread.
#pragma once

#include "collectives/layout.h"
#include "collectives/plan.h"

namespace thinwire::collectives {

inline constexpr int kMaxExchangeRanks = 8;

// One step and one quantisation instead of direct's two, for n/2 times its bytes: for two ranks,
// and for vectors so short that a step costs more than bytes. With top-k this is the all-gather of
// sparse pieces; direct is its split. Every rank sums every piece in rank order from the same
// bytes, its own encoded ones included. Above kMaxExchangeRanks ranks, and for the other
// collectives, this is direct.
Plan make_exchange(Collective collective, int rank, const Layout& layout);

}  // namespace thinwire::collectives
