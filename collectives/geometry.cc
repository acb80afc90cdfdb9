#include "collectives/geometry.h"

#include <algorithm>

namespace thinwire::collectives {

void split_evenly(std::size_t count, std::span<std::size_t> offsets) {
  const std::size_t pieces = offsets.size() - 1;
  const std::size_t blocks = count / kBlockElements + (count % kBlockElements != 0 ? 1 : 0);
  const std::size_t base = blocks / pieces;
  const std::size_t longer = blocks % pieces;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    offsets[piece] = std::min(count, (piece * base + std::min(piece, longer)) * kBlockElements);
  }
  offsets[pieces] = count;
}

void split_as(std::span<const std::size_t> counts, std::span<std::size_t> offsets) {
  offsets[0] = 0;
  for (std::size_t piece = 0; piece < counts.size(); ++piece) {
    offsets[piece + 1] = offsets[piece] + counts[piece];
  }
}

std::size_t tile_elements(std::size_t piece_bytes, DataType type) {
  const std::size_t element =
      std::max(element_bytes(type), element_bytes(accumulator_type(type)) / 2);
  return std::max(kBlockElements, piece_bytes / element / kBlockElements * kBlockElements);
}

std::size_t longest_piece(std::span<const std::size_t> offsets) {
  std::size_t longest = 0;
  for (std::size_t piece = 0; piece + 1 < offsets.size(); ++piece) {
    longest = std::max(longest, offsets[piece + 1] - offsets[piece]);
  }
  return longest;
}

std::size_t tile_count(std::span<const std::size_t> offsets, std::size_t tile_elements) {
  const std::size_t longest = longest_piece(offsets);
  return longest / tile_elements + (longest % tile_elements != 0 ? 1 : 0);
}

Range tile_range(std::span<const std::size_t> offsets, std::size_t piece, std::size_t tile,
                 std::size_t tile_elements) {
  const std::size_t length = offsets[piece + 1] - offsets[piece];
  const std::size_t begin = std::min(length, tile * tile_elements);
  return {offsets[piece] + begin, std::min(length - begin, tile_elements)};
}

}  // namespace thinwire::collectives
