// The bits of floating types: conversions the scalar reference is made of. Pure; any thread.
//
// Always inlined, so that no copy compiled for a wide instruction set can reach code that must run
// everywhere (kernels/kernels.h).
#pragma once

#include <cstdint>

namespace thinwire::compression {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire is little-endian");

inline constexpr std::uint32_t kInfinityBits = 0x7f800000u;
inline constexpr std::uint32_t kCanonicalNanBits = 0x7fc00000u;

[[gnu::always_inline]] inline std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
[[gnu::always_inline]] inline float float_of(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
[[gnu::always_inline]] inline std::uint32_t magnitude_bits(float value) {
  return bits_of(value) & 0x7fffffffu;
}

[[gnu::always_inline]] inline float float_from_bfloat16(std::uint16_t bits) {
  return float_of(static_cast<std::uint32_t>(bits) << 16);
}

// Round to nearest even; NaN keeps sign and leading payload and becomes quiet.
[[gnu::always_inline]] inline std::uint16_t bfloat16_from_float(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > kInfinityBits) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// NaN keeps sign and payload and becomes quiet, as the processors' own instructions do.
[[gnu::always_inline]] inline float float_from_float16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return float_of(sign | kInfinityBits | quiet | (mantissa << 13));
  }
  if (exponent == 0) {  // mantissa * 2^-24, exact
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return float_of(sign | bits_of(magnitude));
  }
  return float_of(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

// Round to nearest even, overflow to Inf; NaN keeps sign and leading payload and becomes quiet.
[[gnu::always_inline]] inline std::uint16_t float16_from_float(float value) {
  const std::uint32_t bits = bits_of(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > kInfinityBits) {
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {  // subnormal: let an addition round at 2^-24
    const float rounded = float_of(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (bits_of(rounded) - bits_of(0.5f)));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

// An 8-bit float with `kMantissaBits`; the others are exponent and sign. OCP 8-bit floating point
// specification 1.0: e4m3 has no Inf, one NaN (0x7f) and the maximum 448; e5m2 is IEEE-like.
// Both functions compute every case and select, so that loops over them vectorise.
[[gnu::always_inline]] inline std::uint32_t select(bool condition, std::uint32_t yes,
                                                   std::uint32_t no) {
  return no ^ ((yes ^ no) & (0u - static_cast<std::uint32_t>(condition)));
}

template <int kMantissaBits>
struct Float8Traits {
  static constexpr std::uint32_t kBias = kMantissaBits == 3 ? 7 : 15;
  static constexpr std::uint32_t kShift = 23 - kMantissaBits;
  static constexpr std::uint32_t kRebias = (127 - kBias) << 23;
  static constexpr std::uint32_t kLargest = kMantissaBits == 3 ? 0x7e : 0x7b;
  // e4m3 has no Inf: its place holds a NaN.
  static constexpr std::uint32_t kInfinity = kMantissaBits == 3 ? 0x7f : 0x7c;
  static constexpr std::uint32_t kInfinityLoaded =
      kMantissaBits == 3 ? kCanonicalNanBits : kInfinityBits;
};

template <int kMantissaBits>
[[gnu::always_inline]] inline float float_from_float8(std::uint8_t byte) {
  using Traits = Float8Traits<kMantissaBits>;
  const float unit = float_of((128 - Traits::kBias - kMantissaBits) << 23);
  const std::uint32_t sign = static_cast<std::uint32_t>(byte & 0x80u) << 24;
  const std::uint32_t magnitude = byte & 0x7fu;
  const std::uint32_t small =
      bits_of(static_cast<float>(static_cast<std::int32_t>(magnitude)) * unit);
  const std::uint32_t normal = (magnitude << Traits::kShift) + Traits::kRebias;
  std::uint32_t result = select(magnitude < (1u << kMantissaBits), small, normal);
  result = select(magnitude == Traits::kInfinity, Traits::kInfinityLoaded, result);
  result = select(magnitude > Traits::kInfinity, kCanonicalNanBits, result);
  return float_of(sign | result);
}

// Round to nearest even; finite values saturate; NaN stays NaN; Inf stays Inf where the format
// has one (e5m2) and is NaN where it has none (e4m3).
template <int kMantissaBits>
[[gnu::always_inline]] inline std::uint8_t float8_from_float(float value) {
  using Traits = Float8Traits<kMantissaBits>;
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Adding 2^23 times the subnormals' last place rounds there.
  const float round = float_of((151 - Traits::kBias - kMantissaBits) << 23);
  const std::uint32_t small = bits_of(float_of(magnitude) + round) - bits_of(round);
  const std::uint32_t odd = (magnitude >> Traits::kShift) & 1u;
  const std::uint32_t rounded = magnitude + ((1u << (Traits::kShift - 1)) - 1) + odd;
  const std::uint32_t normal = (rounded - Traits::kRebias) >> Traits::kShift;
  std::uint32_t result = select(magnitude < Traits::kRebias + (1u << 23), small, normal);
  result = select(result < Traits::kLargest, result, Traits::kLargest);
  result = select(magnitude == kInfinityBits, Traits::kInfinity, result);
  result = select(magnitude > kInfinityBits, 0x7fu, result);
  return static_cast<std::uint8_t>(sign | result);
}

}  // namespace thinwire::compression
