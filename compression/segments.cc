#include "compression/segments.h"

#include "compression/float_bits.h"

namespace thinwire::compression {

std::uint32_t reach(std::uint32_t magnitude_bits, const SegmentRule& rule) {
  if (magnitude_bits < rule.dust_bits) return 0;
  return magnitude_bits + (static_cast<std::uint32_t>(rule.log2_jump) << 23);
}

void split(const float* x, std::size_t n, std::uint32_t absmax_bits, const SegmentRule& rule,
           Segments& segments) {
  segments.count = 0;
  std::uint32_t limit = 0, largest = 0;
  for (std::size_t i = 0; i < n && limit < absmax_bits; ++i) {
    const std::uint32_t bits = magnitude_bits(x[i]);
    if (bits >= kInfinityBits) continue;
    if (bits > limit) {
      if (limit != 0) {
        segments.end[segments.count] = static_cast<std::uint16_t>(i);
        segments.absmax_bits[segments.count++] = largest;
        largest = 0;
      }
      limit = reach(bits, rule);
    }
    if (bits > largest) largest = bits;
  }
  // The scan stops once the limit covers the rest, and the largest element is in that rest.
  segments.end[segments.count] = static_cast<std::uint16_t>(n);
  segments.absmax_bits[segments.count++] = absmax_bits;
}

}  // namespace thinwire::compression
