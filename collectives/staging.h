// Staging: how much memory a running tile needs. Depends only on what is equal on all ranks. Pure;
// any thread.
#pragma once

#include <cstddef>

#include "collectives/codec_set.h"
#include "collectives/compiled_plan.h"
#include "collectives/engine.h"
#include "collectives/selection.h"

namespace thinwire::collectives {

// Wire and accumulator regions that suffice for every rank's Plan of a schedule.
struct Regions {
  std::size_t wire = 0;
  std::size_t acc = 0;
};
Regions regions_for(ScheduleKind kind, Arithmetic arithmetic, const Layout& layout);

// Bytes from one region of a tile's staging to the next: wire regions first, then accumulators.
struct Strides {
  std::size_t wire = 0;
  std::size_t acc = 0;
  std::size_t total(const Regions& regions) const {
    return regions.wire * wire + regions.acc * acc;
  }
};
Strides strides_for(const CodecSet& codecs, Arithmetic arithmetic, DataType type,
                    std::size_t tile_elements);

// choice.piece_bytes, or less in groups so large that not even two tiles would fit. Of top-k eight
// times that: so little of a piece travels that messages would be tiny, and finding the largest
// elements costs something for each piece.
std::size_t bounded_piece_bytes(const Choice& choice, const Layout& layout, bool sparse = false);

// The most that one tile takes, over all types and schedules that can be chosen.
std::size_t largest_tile_bytes(const EngineOptions& options, const Choices& choices,
                               const Layout& layout, const CodecSet& codecs);

}  // namespace thinwire::collectives
