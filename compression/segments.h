// Segments: where one block needs more than one scale. Pure; any thread.
//
// A block may hold, from some unknown place on, bytes that are no elements at all
// (docs/numerics.md, "The stale tail"). So a scale may reach no further than some jump above what
// the block held so far, and an element beyond that reach starts a segment with a scale of its own:
// whatever follows the first b elements of a block, their scales are at most J(b) times what these
// b elements alone would have had, and exactly that where the rest jumps higher.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thinwire::compression {

// log2 J(b) falls with log2 b from `first_jump` to `last_jump`, which it reaches at b <= 8: few
// elements say little of their kind, and ordinary data should seldom need a second segment.
struct SegmentRule {
  std::uint32_t first_jump;
  std::uint32_t last_jump;
  // Magnitudes below this one set no limit (zeros and what is as good as zero).
  std::uint32_t dust_bits;
};

// The rule looks at the maxima of this many first elements, and then at every further record.
inline constexpr std::size_t kRuleElements = 8;

// log2 J(b), b >= 1, in the place of float32's exponent.
[[gnu::always_inline]] inline std::uint32_t jump_bits(const SegmentRule& rule, std::size_t b) {
  const auto log2_b = static_cast<std::uint32_t>(63 - __builtin_clzll(b));
  const bool fallen = rule.first_jump <= rule.last_jump + log2_b;
  return (fallen ? rule.last_jump : rule.first_jump - log2_b) << 23;
}

// The dynamic range of float32 holds no more jumps of 2^2.
inline constexpr std::size_t kMaxSegments = 144;

struct Segments {
  std::size_t count = 0;
  std::array<std::uint16_t, kMaxSegments> end;          // ascending; the last is n
  std::array<std::uint32_t, kMaxSegments> absmax_bits;  // of the finite elements
};

// The largest magnitude of x[0, n), NaN being largest, and the largest finite one in
// x[begin, end), as bits.
std::uint32_t absmax(const float* x, std::size_t n);
std::uint32_t finite_absmax(const float* x, std::size_t begin, std::size_t end);

// Splits x[0, n), n <= 256. `absmax_bits` is the largest finite magnitude in it; non-finite
// elements are passed over.
void split(const float* x, std::size_t n, std::uint32_t absmax_bits, const SegmentRule& rule,
           Segments& segments);

}  // namespace thinwire::compression
