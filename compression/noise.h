// Noise of stochastic rounding: a hash of a seed and an element's index. Pure; any thread.
#pragma once

#include <cstdint>

#include "compression/float_bits.h"

namespace thinwire::compression {

// The seed of one tile of elements.
struct NoiseKey {
  std::uint32_t first, second;
};

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) of `seed` and the tile's number.
[[gnu::always_inline]] inline NoiseKey noise_key(std::uint64_t seed, std::uint64_t tile) {
  std::uint64_t z = seed + (tile + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return {static_cast<std::uint32_t>(z), static_cast<std::uint32_t>(z >> 32)};
}

// 32 bits of which the upper 16 are used; `index` counts from the tile's beginning. The
// multipliers are those of C. Wellons' "lowbias32".
inline constexpr std::uint32_t kNoiseMultiplier1 = 0x7feb352du, kNoiseMultiplier2 = 0x846ca68bu;

[[gnu::always_inline]] inline std::uint32_t noise_of(const NoiseKey& key, std::uint32_t index) {
  std::uint32_t h = index ^ key.first;
  h = (h ^ (h >> 16)) * kNoiseMultiplier1;
  h = (h ^ (h >> 15)) + key.second;
  return (h ^ (h >> 16)) * kNoiseMultiplier2;
}

// What is added to a value in units of the last place kept before it is rounded to nearest: 2^14
// steps within +-0.5, never nearer to it than 2^-15, so that an integer stays what it is.
inline constexpr std::uint32_t kDitherMask = 0x007ffe00u, kDitherOne = 0x3f800100u;

[[gnu::always_inline]] inline float dither_of(std::uint32_t noise) {
  return float_of(((noise >> 9) & kDitherMask) | kDitherOne) - 1.5f;
}

}  // namespace thinwire::compression
