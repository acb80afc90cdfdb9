// Staging: how much memory a running tile needs and how many tiles may run. Pure; any thread.
#pragma once

#include <cstddef>

#include "collectives/codec_set.h"
#include "collectives/compiled_plan.h"
#include "collectives/engine.h"

namespace thinwire::collectives {

// Bytes from one region of a tile's staging to the next: wire regions first, then accumulators.
struct Strides {
  std::size_t wire = 0;
  std::size_t acc = 0;
  std::size_t total(const CompiledPlan& plan) const {
    return static_cast<std::size_t>(plan.wire_regions) * wire +
           static_cast<std::size_t>(plan.acc_regions) * acc;
  }
};
Strides strides_for(const CodecSet& codecs, Arithmetic arithmetic, DataType type,
                    std::size_t tile_elements);

// options.piece_bytes, or less in groups so large that not even two tiles would fit.
std::size_t bounded_piece_bytes(const EngineOptions& options, int ranks);

// The most that a tile of this Plan takes, over all types it can run with.
std::size_t largest_footprint(const CompiledPlan& plan, const CodecSet& codecs,
                              Arithmetic arithmetic, std::size_t piece_bytes);

}  // namespace thinwire::collectives
