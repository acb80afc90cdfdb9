// Programs: what each rank that a simulation runs has to do. Immutable once made; pure; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "collectives/layout.h"
#include "simulator/program.h"
#include "simulator/simulate.h"

namespace thinwire::simulator {

struct Programs {
  std::string schedule;
  collectives::Layout layout;
  // By place: those from 0 on that stand for all others, which are `of_place.size()` apart.
  std::vector<std::unique_ptr<const Program>> of_place;
  std::vector<double> piece_elements;  // by owner's place
  double tile_elements = 0;
  int tiles = 0;
  int tiles_at_once = 1;

  // Of all simulated ranks, with all tiles.
  double steps_run() const;
  // Elements that a piece has in a tile.
  double elements(int piece, int tile) const;
};

Result<Programs> make_programs(const Cluster& cluster, const Workload& workload);

}  // namespace thinwire::simulator
