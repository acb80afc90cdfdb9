// Which elements top-k sends. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compression/topk_source.h"

namespace thinwire::compression {

// All with a magnitude above `limit` (bits) or not finite, and the first `ties` of those at it.
struct TopkCut {
  std::uint32_t limit;
  std::size_t ties = 0;
};

// How many of `count` elements are wanted, at least one of any; a choice by sampling may hold this
// many at least and at most, and no message holds more than the latter of its whole count.
std::size_t topk_wanted(std::size_t count, float ratio);
constexpr std::size_t topk_least(std::size_t wanted) { return wanted - wanted * 3 / 10; }
constexpr std::size_t topk_most(std::size_t wanted) { return wanted + wanted * 3 / 10; }

// The limit that the `wanted` largest of source.count() > 0 elements exceed, as estimated from some
// of them; `wanted` > 0 need not be whole. Needs source.count() / 4 bytes at `scratch`.
std::uint32_t sampled_limit(const TopkSource& source, double wanted, std::byte* scratch);

// The `wanted` largest magnitudes, ties by index, those that are not finite among them, and no
// zeros. More of them only where more are not finite: `non_finite` says how many are.
TopkCut exact_cut(const TopkSource& source, std::size_t wanted, std::size_t& non_finite);

}  // namespace thinwire::compression
