#include "collectives/staging.h"

#include <algorithm>

#include "collectives/geometry.h"

namespace thinwire::collectives {
namespace {

constexpr std::size_t kCacheLine = 64;

// Regions start on cache lines, and not all at the same offset within a page: streams that differ
// by a multiple of 4 KiB delay one another in the load and store buffers.
std::size_t round_up(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine + 3 * kCacheLine;
}

bool runs_with(Arithmetic arithmetic, DataType type) {
  const bool wide = accumulator_type(type) != type;
  if (wide != is_widened(arithmetic)) return false;
  if (!is_lossy(arithmetic)) return true;
  return type == DataType::float32 || element_bytes(type) == 2;
}

}  // namespace

Strides strides_for(const CodecSet& codecs, Arithmetic arithmetic, DataType type,
                    std::size_t tile_elements) {
  std::size_t wire = tile_elements * element_bytes(type);
  if (is_lossy(arithmetic)) {
    wire = codecs.max_encoded_bytes(tile_elements, type);
  }
  return {round_up(wire), round_up(tile_elements * element_bytes(accumulator_type(type)))};
}

std::size_t bounded_piece_bytes(const EngineOptions& options, int ranks) {
  const auto most_slots = 2 * static_cast<std::size_t>(ranks) + 4;
  return std::min(options.piece_bytes, kMaxStagingBytes / 2 / most_slots);
}

std::size_t largest_footprint(const CompiledPlan& plan, const CodecSet& codecs,
                              Arithmetic arithmetic, std::size_t piece_bytes) {
  std::size_t largest = 0;
  for (int t = 0; t < kDataTypeCount; ++t) {
    const auto type = static_cast<DataType>(t);
    if (!runs_with(arithmetic, type)) continue;
    const std::size_t elements = tile_elements(piece_bytes, type);
    largest = std::max(largest, strides_for(codecs, arithmetic, type, elements).total(plan));
  }
  return largest;
}

}  // namespace thinwire::collectives
