// NCCL's twelve element types on the host: storage, the type they are computed in, conversions.
// Written apart from the product's own kernels, which these check. Pure functions; any thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/data_type.h"

namespace thinwire::perf {

// A binary floating-point format of up to 16 bits. kInfinity: the largest exponent means infinity
// and NaN (IEEE); otherwise only all-ones is NaN and overflow saturates (fp8 e4m3).
template <class StoredType, int kExponentBits, int kMantissaBits, bool kInfinity>
struct SmallFloat {
  using Stored = StoredType;
  using Value = float;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kDigits = kMantissaBits + 1;
  static constexpr int kSafeExponent = kBias - 1;  // 2^-this .. 2^this are normal numbers
  static constexpr std::uint32_t kMagnitude = (1u << (kExponentBits + kMantissaBits)) - 1;
  static constexpr std::uint32_t kInfinityCode = ((1u << kExponentBits) - 1) << kMantissaBits;
  static constexpr int kShift = 23 - kMantissaBits;

  static Value load(Stored stored) {
    const std::uint32_t magnitude = stored & kMagnitude;
    const std::uint32_t sign = static_cast<std::uint32_t>(stored & ~kMagnitude)
                               << (31 - kExponentBits - kMantissaBits);
    const std::uint32_t exponent = magnitude >> kMantissaBits;
    std::uint32_t bits = 0;
    if (exponent == 0) {
      bits = std::bit_cast<std::uint32_t>(
          std::ldexp(static_cast<float>(magnitude), 1 - kBias - kMantissaBits));
    } else if (kInfinity ? magnitude >= kInfinityCode : magnitude == kMagnitude) {
      bits = 0x7f800000u | ((kInfinity ? magnitude & ~kInfinityCode : 1u) << kShift);
    } else {
      bits = (magnitude << kShift) + (static_cast<std::uint32_t>(127 - kBias) << 23);
    }
    return std::bit_cast<float>(bits | (sign & 0x80000000u));
  }

  static Stored store(Value value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t absolute = bits & 0x7fffffffu;
    const std::uint32_t sign = (bits >> 31) << (kExponentBits + kMantissaBits);
    std::uint32_t magnitude = 0;
    if (absolute > 0x7f800000u) {
      magnitude = kMagnitude;
    } else if (std::fabs(value) < std::ldexp(1.0f, 1 - kBias)) {
      magnitude = static_cast<std::uint32_t>(
          std::nearbyint(std::ldexp(std::fabs(value), kBias - 1 + kMantissaBits)));
    } else {
      const std::uint32_t even = (absolute >> kShift) & 1;
      const std::uint32_t rounded = absolute + ((1u << (kShift - 1)) - 1 + even);
      const std::uint32_t code =
          (rounded >> kShift) - (static_cast<std::uint32_t>(127 - kBias) << kMantissaBits);
      const std::uint32_t largest = kInfinity ? kInfinityCode : kMagnitude - 1;
      magnitude = code > largest ? largest : code;
    }
    return static_cast<Stored>(sign | magnitude);
  }
};

struct Bfloat16 {
  using Stored = std::uint16_t;
  using Value = float;
  static constexpr int kDigits = 8;
  static constexpr int kSafeExponent = 120;
  static Value load(Stored stored) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(stored) << 16);
  }
  static Stored store(Value value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<Stored>((bits >> 16) | 0x40);
    return static_cast<Stored>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
  }
};

template <class Number>
struct Plain {
  using Stored = Number;
  using Value = Number;
  static constexpr int kDigits = sizeof(Number) == 4 ? 24 : 53;
  static constexpr int kSafeExponent = std::is_integral_v<Number> ? 8 * sizeof(Number) - 2 : 120;
  static Value load(Stored stored) { return stored; }
  static Stored store(Value value) { return value; }
};

// Calls action(Format{}) with the format of `type`: one of the structs above.
template <class Action>
decltype(auto) with_format(DataType type, Action&& action) {
  switch (type) {
    case DataType::int8:
      return action(Plain<std::int8_t>{});
    case DataType::uint8:
      return action(Plain<std::uint8_t>{});
    case DataType::int32:
      return action(Plain<std::int32_t>{});
    case DataType::uint32:
      return action(Plain<std::uint32_t>{});
    case DataType::int64:
      return action(Plain<std::int64_t>{});
    case DataType::uint64:
      return action(Plain<std::uint64_t>{});
    case DataType::float16:
      return action(SmallFloat<std::uint16_t, 5, 10, true>{});
    case DataType::float32:
      return action(Plain<float>{});
    case DataType::float64:
      return action(Plain<double>{});
    case DataType::bfloat16:
      return action(Bfloat16{});
    case DataType::float8_e4m3:
      return action(SmallFloat<std::uint8_t, 4, 3, false>{});
    case DataType::float8_e5m2:
      break;
  }
  return action(SmallFloat<std::uint8_t, 5, 2, true>{});
}

}  // namespace thinwire::perf
