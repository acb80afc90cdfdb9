// Grid: the N-dimensional ring. Rings along the rows first, then along the columns, and so on; back
// in reverse. 2 * sum(side - 1) steps, neighbour traffic only. Pure; any thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collectives/layout.h"
#include "collectives/plan.h"
#include "collectives/schedules/routes.h"

namespace thinwire::collectives {

// True when every side is at least 1 and their product is `nodes`.
bool fits(std::span<const int> sides, int nodes);

// Rings within the rows of a full grid. Requires fits(sides, nodes).
std::unique_ptr<Routes> grid_routes(GridSides sides);

// Rows that need not be of one length: `rows` of them, the first ones one longer than the others
// where `nodes` does not divide evenly. What a longer row has in its last column is collected, in
// the shorter rows, in column (row of the owner) mod (length of a shorter row). Requires 1 <= rows
// <= nodes.
std::unique_ptr<Routes> row_routes(int nodes, int rows);

// How many rows are best for `nodes`: those of fewest steps; among these an even division, then the
// fewest rows.
int best_rows(int nodes);

// The grid of a group: `sides` where not empty (they must fit), else rows: each within a rack where
// the racks are of one size and that costs at most twice the steps of best_rows(), else
// best_rows().
std::unique_ptr<Routes> choose_grid(const GridSides& sides, const Layout& layout);

Plan make_grid(Collective collective, int rank, const Layout& layout, const GridSides& sides);

}  // namespace thinwire::collectives
