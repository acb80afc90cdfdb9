// Segments: where one block needs more than one scale. Pure; any thread.
//
// A block may hold, from some unknown place on, bytes that are no elements at all (docs/numerics.md,
// "The stale tail"). So a scale may reach no further than `kJump` times the first element it
// covers: whatever follows a prefix of the block, the prefix's scales are at most kJump times what
// the prefix alone would have had, and equal to it where the rest jumps higher than that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thinwire::compression {

// The dynamic range of float32 holds no more jumps of 2^3.
inline constexpr std::size_t kMaxSegments = 96;

struct SegmentRule {
  int log2_jump;
  // Magnitudes below this one set no limit (zeros and what is as good as zero).
  std::uint32_t dust_bits;
};

struct Segments {
  std::size_t count = 0;
  std::array<std::uint16_t, kMaxSegments> end;            // ascending; the last is n
  std::array<std::uint32_t, kMaxSegments> absmax_bits;    // of the finite elements
};

// The largest magnitude a scale may cover whose first element has `magnitude_bits`.
std::uint32_t reach(std::uint32_t magnitude_bits, const SegmentRule& rule);

// Splits x[0, n), n <= 256. `absmax_bits` is the largest finite magnitude in it; non-finite
// elements are passed over.
void split(const float* x, std::size_t n, std::uint32_t absmax_bits, const SegmentRule& rule,
           Segments& segments);

}  // namespace thinwire::compression
