// Checker: proves a set of Plans correct without data. Pure; any thread. For tests, `thinwire plan`
// and anyone who writes a schedule.
#pragma once

#include <span>
#include <string>

#include "collectives/layout.h"
#include "collectives/plan.h"

namespace thinwire::collectives {

// One Plan alone: fields in range, dependencies backwards, every conflicting pair of accesses to a
// slot ordered by dependencies (nothing is read before it is written, or overwritten while it is
// still needed, whatever order the Engine picks), no value written in vain, safe in place (plan.h).
// Returns "" or one readable line that names rank and steps.
std::string check_plan(const Plan& plan);

// The Plans of all ranks, plans[r] being rank r's: check_plan() of each, then runs them together
// on symbols. Every send meets exactly one receive and nothing waits for ever; every output that
// the collective promises holds each rank's contribution to its piece exactly once (all_gather:
// the piece's owner's alone) and no other output is written; and an output that several ranks
// hold is the same expression on all of them, order of terms and encode/decode boundaries
// included, hence bit-identical. Returns "" or one readable line.
std::string check_plans(std::span<const Plan> plans);

// Every Step::level is the highest level that its wire value travels in the layout, on whichever
// rank, while it is passed on verbatim. Requires check_plans(plans) == "" and a layout of the same
// ranks. Returns "" or one readable line.
std::string check_levels(std::span<const Plan> plans, const Layout& layout);

}  // namespace thinwire::collectives
