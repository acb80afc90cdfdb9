// Geometry: which elements a Plan's pieces and tiles cover. Pure functions; any thread.
//
// A vector is cut into one piece a rank: piece p covers elements [offsets[p], offsets[p+1]). Tile
// t covers elements [t*B, (t+1)*B) of every piece, B = tile_elements(). All ranks compute the
// same numbers. Boundaries fall on multiples of kBlockElements from the start of a piece, so that
// a codec's blocks are full up to the last one.
#pragma once

#include <cstddef>
#include <span>

#include "base/data_type.h"

namespace thinwire::collectives {

inline constexpr std::size_t kBlockElements = 256;

// Writes offsets.size() - 1 nearly equal pieces of `count` elements: whole blocks, the first
// pieces one block longer than the last where they do not divide evenly. Short vectors leave the
// last pieces empty.
void split_evenly(std::size_t count, std::span<std::size_t> offsets);

// Offsets of pieces of the given lengths; offsets.size() == counts.size() + 1.
void split_as(std::span<const std::size_t> counts, std::span<std::size_t> offsets);

// Elements of a tile's longest piece: `piece_bytes` of them as they travel, fewer for the 8-bit
// floats, whose sums take four times the room. A multiple of kBlockElements, never 0.
std::size_t tile_elements(std::size_t piece_bytes, DataType type);

std::size_t longest_piece(std::span<const std::size_t> offsets);

// Tiles that cover the longest piece; 0 if all are empty.
std::size_t tile_count(std::span<const std::size_t> offsets, std::size_t tile_elements);

// Elements of one piece within one tile, from the start of the whole vector.
struct Range {
  std::size_t first = 0;
  std::size_t count = 0;
};
Range tile_range(std::span<const std::size_t> offsets, std::size_t piece, std::size_t tile,
                 std::size_t tile_elements);

}  // namespace thinwire::collectives
