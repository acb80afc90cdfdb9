// How one element of each block format becomes its payload, and back: the reference of the
// kernels. Pure; any thread. Always inlined, see float_bits.h.
//
// An ElementCode has kBits (of a payload), Payload (an unsigned type that holds one),
//   encode(x, scaling), encode(x, scaling, noise)   to nearest even, stochastic (noise.h)
//   decode(payload, unscaling)
#pragma once

#include <cstddef>
#include <cstdint>

#include "compression/float_bits.h"
#include "compression/noise.h"

namespace thinwire::compression {

struct Fp16Code {
  static constexpr int kBits = 16;
  using Payload = std::uint16_t;
  [[gnu::always_inline]] static Payload encode(float x, float scaling) {
    return float16_from_float(x * scaling);
  }
  [[gnu::always_inline]] static Payload encode(float x, float scaling, std::uint32_t) {
    return encode(x, scaling);
  }
  [[gnu::always_inline]] static float decode(Payload half, float unscaling) {
    return float_from_float16(half) * unscaling;
  }
};

// Without scale. A finite value never becomes Inf, in float16 neither if it fits there.
inline constexpr std::uint32_t kBf16LargestHalf = 0x477f0000u;  // below float16's overflow
inline constexpr std::uint32_t kHalfOverflow = 0x477ff000u;     // 65520
inline constexpr std::uint32_t kBf16Largest = 0x7f7f0000u;

struct Bf16Code {
  static constexpr int kBits = 16;
  using Payload = std::uint16_t;
  [[gnu::always_inline]] static Payload capped(std::uint32_t bits, std::uint32_t rounded) {
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    std::uint32_t result = rounded & 0x7fffffffu;
    if (magnitude < kHalfOverflow && result > kBf16LargestHalf) result = kBf16LargestHalf;
    if (result > kBf16Largest) result = kBf16Largest;
    if (magnitude >= kInfinityBits) result = magnitude;
    if (magnitude > kInfinityBits) result |= 0x400000u;
    return static_cast<Payload>(((bits & 0x80000000u) | result) >> 16);
  }
  [[gnu::always_inline]] static Payload encode(float x, float) {
    const std::uint32_t bits = bits_of(x);
    return capped(bits, bits + 0x7fffu + ((bits >> 16) & 1u));
  }
  [[gnu::always_inline]] static Payload encode(float x, float, std::uint32_t noise) {
    const std::uint32_t bits = bits_of(x);
    return capped(bits, bits + (noise >> 16));
  }
  [[gnu::always_inline]] static float decode(Payload half, float) {
    return float_from_bfloat16(half);
  }
};

// Quotients lie within +-(2^(kBits - 1) - 1).
template <int kIntegerBits>
struct IntegerCode {
  static constexpr int kBits = kIntegerBits;
  using Payload = std::uint8_t;
  [[gnu::always_inline]] static Payload encode(float x, float scaling) {
    return rounded(x * scaling);
  }
  [[gnu::always_inline]] static Payload encode(float x, float scaling, std::uint32_t noise) {
    return rounded(x * scaling + dither_of(noise));
  }
  [[gnu::always_inline]] static float decode(Payload q, float unscaling) {
    const auto top = static_cast<std::int32_t>(static_cast<std::uint32_t>(q) << (32 - kBits));
    return static_cast<float>(top >> (32 - kBits)) * unscaling;
  }

 private:
  [[gnu::always_inline]] static Payload rounded(float quotient) {
    // In [1, 2) * 2^23 the last place is 1, so that the addition rounds to an integer.
    return static_cast<Payload>(bits_of(quotient + 0x1.8p23f) & ((1u << kBits) - 1));
  }
};
using Int8Code = IntegerCode<8>;
using Int4Code = IntegerCode<4>;

// Scaled values are those of float16 with fewer bits, so that a float16 conversion decodes: e5m2
// is its upper byte, and e4m3 has its smallest exponents.
template <int kMantissaBits>
struct Float8Code {
  static constexpr int kBits = 8;
  using Payload = std::uint8_t;
  static constexpr std::uint32_t kLeastExponent = 113u << 23;  // of float16: 2^-14
  static constexpr std::uint16_t kHalfMask = kMantissaBits == 3 ? 0xbf80u : 0xff00u;
  // 1.5 * 2^kShift times a power of two has its last place at the last place kept.
  static constexpr std::uint32_t kShift = 23 - kMantissaBits;
  static constexpr std::uint32_t kAnchor = (kShift << 23) | 0x400000u;

  [[gnu::always_inline]] static Payload encode(float x, float scaling) {
    return rounded(x * scaling, 0.0f);
  }
  [[gnu::always_inline]] static Payload encode(float x, float scaling, std::uint32_t noise) {
    return rounded(x * scaling, dither_of(noise));
  }
  [[gnu::always_inline]] static float decode(Payload code, float unscaling) {
    const auto wide = static_cast<std::uint32_t>(
        static_cast<std::int32_t>(static_cast<std::int8_t>(code)) * (1 << (10 - kMantissaBits)));
    return float_from_float16(static_cast<std::uint16_t>(wide & kHalfMask)) * unscaling;
  }

 private:
  [[gnu::always_inline]] static Payload rounded(float v, float dither) {
    std::uint32_t exponent = bits_of(v) & kInfinityBits;
    exponent = exponent > kLeastExponent ? exponent : kLeastExponent;
    const float unit = float_of(exponent - (static_cast<std::uint32_t>(kMantissaBits) << 23));
    const float anchor = float_of(exponent + kAnchor);
    const float sum = (v + dither * unit) + anchor;
    const std::uint32_t places = bits_of(sum) - bits_of(anchor);
    const std::uint32_t kept = (places >> 31) != 0 ? 0u - places : places;
    const std::uint32_t code = kept + ((exponent - kLeastExponent) >> kShift);
    return static_cast<Payload>(((bits_of(v) >> 24) & 0x80u) | (code & 0x7fu));
  }
};
using E4m3Code = Float8Code<3>;
using E5m2Code = Float8Code<2>;

// Payloads of a block of n elements. Those of 4 bits lie in planes, element i in the lower and
// element i + (n + 1) / 2 in the upper half of byte i, so that vectors need no shuffling.
template <int kBits>
struct Packing {
  [[gnu::always_inline]] static constexpr std::size_t bytes(std::size_t n) {
    return (n * kBits + 7) / 8;
  }
  template <class Payload>
  [[gnu::always_inline]] static void put(void* block, std::size_t i, std::size_t n, Payload value) {
    auto* const to = static_cast<std::uint8_t*>(block);
    if constexpr (kBits == 4) {
      const std::size_t half = bytes(n);
      std::uint8_t& byte = to[i < half ? i : i - half];
      byte = static_cast<std::uint8_t>(i < half ? (byte & 0xf0u) | value
                                                : (byte & 0x0fu) | (value << 4));
    } else {
      __builtin_memcpy(to + i * sizeof(Payload), &value, sizeof(Payload));
    }
  }
  template <class Payload>
  [[gnu::always_inline]] static Payload get(const void* block, std::size_t i, std::size_t n) {
    const auto* const from = static_cast<const std::uint8_t*>(block);
    if constexpr (kBits == 4) {
      const std::size_t half = bytes(n);
      return static_cast<Payload>(i < half ? from[i] & 0xfu : from[i - half] >> 4);
    } else {
      Payload value;
      __builtin_memcpy(&value, from + i * sizeof(Payload), sizeof(Payload));
      return value;
    }
  }
};

}  // namespace thinwire::compression
