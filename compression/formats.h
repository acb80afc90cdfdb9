// Formats of the block-scaled codecs (block_codec.h says what each member means). Pure.
#pragma once

#include "compression/codec.h"
#include "compression/element_codes.h"
#include "compression/float_bits.h"
#include "compression/frame.h"
#include "compression/kernels/kernels.h"
#include "compression/segments.h"

namespace thinwire::compression {

// What the formats with a power of two a block share: the code is the biased exponent of the
// block's largest magnitude M, at least kLeast, and 2^(kTop - its exponent) the scale.
template <int kTop, int kLargestCode>
struct PowerOfTwoScale {
  using Code = std::uint8_t;
  static constexpr std::size_t kCodeBytes = 1;
  static constexpr Code kSegmentedCode = 255;
  static constexpr Code kRawCode = 0;
  static constexpr std::uint32_t kLeast = 15, kLargest = kLargestCode;

  static Code exponent_code(std::uint32_t absmax_bits) {
    const std::uint32_t exponent = absmax_bits >> 23;
    return static_cast<Code>(exponent < kLeast ? kLeast : exponent);
  }
  static bool is_plain(Code code) { return code >= kLeast && code <= kLargest; }
  static float scaling(Code code) {
    return float_of(static_cast<std::uint32_t>(254 + kTop - code) << 23);
  }
  static float unscaling(Code code) {
    return float_of(static_cast<std::uint32_t>(code - kTop) << 23);
  }
};

// 16-bit floating point times a power of two. A block whose largest finite magnitude lies in
// [2^a, 2^(a+1)) is scaled by 2^(14-a), so nothing overflows and the 28 binades below it keep 11
// bits. Bounds for x in a prefix of a block with largest finite magnitude M (M of the whole block
// where the data do not jump by more than 2^16):
//   |error| <= max(|x| * 2^-11, M * 2^-23, 2^-126); Inf and NaN stay, with their signs.
// Elements that are float16 already travel unchanged.
struct Fp16Format : PowerOfTwoScale<14, 254> {
  using Element = Fp16Code;
  static constexpr BlockFormat kKernels = kFp16;
  static constexpr CodecId kId = CodecId::fp16;
  static constexpr DataType kNative = DataType::float16;
  static constexpr bool kHasNative = true;
  static constexpr SegmentRule kRule{16, 16, 0x00800000u};
  static constexpr bool kHasRaw = false;
  static constexpr bool kKeepsNonFinite = true;
  static constexpr std::uint32_t kLargestPlain = 0x7effffffu;

  static constexpr std::size_t max_escape_bytes(std::size_t n, std::size_t) {
    constexpr std::size_t kMost = 277 / 16 + 1;  // segments that the range of float32 holds
    return 2 * (n < kMost ? n : kMost);
  }
  static Code code_for(std::uint32_t absmax_bits) { return exponent_code(absmax_bits); }
  // Rounding up at the very end of float32's range would turn a finite value into Inf.
  static bool is_scalar(Code code) { return code == kLargest; }
  static std::uint16_t corrected(std::uint16_t half, Code code) {
    constexpr std::uint16_t kTop = 0x77ff;  // the largest below 2^15
    const auto magnitude = static_cast<std::uint16_t>(half & 0x7fffu);
    const bool carried = code == kLargest && magnitude > kTop && magnitude < 0x7c00u;
    return carried ? static_cast<std::uint16_t>((half & 0x8000u) | kTop) : half;
  }
};

// float32's upper half, rounded: |error| <= |x| * 2^-8 (2^-9 but for 65408 < |x| < 65520 and above
// 0x1.ffp127, where rounding up would overflow float16 or bfloat16; stochastic: 2^-7), or 2^-133.
// No scale and no block: each element for itself. Inf stays, NaN is quieted; both keep their signs.
struct Bf16Format {
  using Element = Bf16Code;
  using Code = std::uint8_t;
  static constexpr std::size_t kCodeBytes = 0;
  static constexpr BlockFormat kKernels = kBf16;
  static constexpr CodecId kId = CodecId::bf16;
  static constexpr DataType kNative = DataType::bfloat16;
  static constexpr bool kHasNative = true;
};

// Integers of kBits times a bfloat16 scale, absmax / kMost rounded up; round to nearest even.
// Bounds for x in a prefix of a block, with M the prefix's largest magnitude:
//   |error| <= max(J * M / (2 * kMost * (1 - 2^-7)), 2^-119), and for int4 at most |x|, where
//   J = 1 when the block's other elements are at most M or more than J(b) * M, and J <= J(b)
//   always; J(b) = 32, 16, 8 for prefixes of at least 1, 2, 4 elements and 4 for 8 and more.
// Stochastic rounding: twice that. Blocks that no scale serves travel raw: non-finite values, all
// magnitudes below 2^-119, a magnitude above 2^127, or one so near float16's largest that rounding
// would carry it to Inf.
template <int kBits>
struct IntegerFormat {
  using Element = IntegerCode<kBits>;
  using Code = std::uint16_t;
  static constexpr std::size_t kCodeBytes = 2;
  static constexpr BlockFormat kKernels = kBits == 8 ? kInt8 : kInt4;
  static constexpr CodecId kId = kBits == 8 ? CodecId::int8 : CodecId::int4;
  static constexpr bool kHasNative = false;
  static constexpr float kMost = (1 << (kBits - 1)) - 1;
  static constexpr std::uint32_t kTiny = (127u - 119u) << 23;
  static constexpr std::uint32_t kLargestPlain = (127u + 127u) << 23;
  static constexpr SegmentRule kRule{5, 2, kTiny};
  static constexpr Code kSegmentedCode = 0xffff;
  static constexpr Code kRawCode = 0xfffe;
  static constexpr bool kHasRaw = true;
  static constexpr bool kKeepsNonFinite = false;

  static constexpr std::size_t max_escape_bytes(std::size_t n, std::size_t element_bytes) {
    return n * element_bytes - Packing<kBits>::bytes(n);
  }
  static Code code_for(std::uint32_t absmax_bits) {
    if (absmax_bits == 0) return 0;
    if (absmax_bits < kTiny || absmax_bits > kLargestPlain) return kRawCode;
    const float absmax = float_of(absmax_bits);
    if (absmax > 65000.0f && absmax < 65520.0f) return kRawCode;
    return static_cast<Code>((bits_of(absmax / kMost) + 0xffffu) >> 16);
  }
  static bool is_plain(Code code) { return code < 0x7f80; }
  static float unscaling(Code code) { return float_from_bfloat16(code); }
  static float scaling(Code code) { return code == 0 ? 0.0f : 1.0f / unscaling(code); }
  static bool is_scalar(Code) { return false; }
  static std::uint8_t corrected(std::uint8_t payload, Code) { return payload; }
};
using Int8Format = IntegerFormat<8>;
using Int4Format = IntegerFormat<4>;

// 8-bit floating point (OCP's, without codes for Inf and NaN) times a power of two. Bounds for x
// in a prefix of a block with largest magnitude M:
//   e4m3: |error| <= max(|x| * 2^-4, J * M * 2^-17, 2^-126), J = 1 in a block without jumps, and at
//         most 2^8
//   e5m2: |error| <= max(|x| * 2^-3, J * M * 2^-31, 2^-126), J at most 2^16
// Stochastic rounding: twice that. Blocks travel raw where no scale serves: non-finite values,
// magnitudes above 2^126 (e4m3) or 2^127 (e5m2), or one so near float16's largest that rounding
// would carry it to Inf.
template <int kMantissaBits>
struct Float8Format
    : PowerOfTwoScale<kMantissaBits == 3 ? -1 : 14, kMantissaBits == 3 ? 252 : 253> {
  using Base = PowerOfTwoScale<kMantissaBits == 3 ? -1 : 14, kMantissaBits == 3 ? 252 : 253>;
  using Element = Float8Code<kMantissaBits>;
  using Code = typename Base::Code;
  static constexpr BlockFormat kKernels = kMantissaBits == 3 ? kE4m3 : kE5m2;
  static constexpr CodecId kId = kMantissaBits == 3 ? CodecId::fp8_e4m3 : CodecId::fp8_e5m2;
  static constexpr bool kHasNative = false;
  static constexpr std::uint32_t kJump = kMantissaBits == 3 ? 8 : 16;
  static constexpr SegmentRule kRule{kJump, kJump, 0x00800000u};
  static constexpr bool kHasRaw = true;
  static constexpr bool kKeepsNonFinite = false;
  static constexpr std::uint32_t kLargestPlain = (Base::kLargest << 23) | 0x7fffffu;

  static constexpr std::size_t max_escape_bytes(std::size_t n, std::size_t element_bytes) {
    return n * (element_bytes - 1);
  }
  static Code code_for(std::uint32_t absmax_bits) {
    // The last value kept below float16's largest; the next one is 2^16.
    constexpr float kLast = 65536.0f * (1 - 0.5f / (1 << kMantissaBits));
    if (absmax_bits > kLargestPlain) return Base::kRawCode;
    const float absmax = float_of(absmax_bits);
    if (absmax > kLast && absmax < 65520.0f) return Base::kRawCode;
    return Base::exponent_code(absmax_bits);
  }
  static bool is_scalar(Code) { return false; }
  static std::uint8_t corrected(std::uint8_t payload, Code) { return payload; }
};
using E4m3Format = Float8Format<3>;
using E5m2Format = Float8Format<2>;

// Bytes of the payload of `count` elements in blocks.
template <class Format>
constexpr std::size_t payload_bytes(std::size_t count) {
  using P = Packing<Format::Element::kBits>;
  return count / kBlockElements * P::bytes(kBlockElements) + P::bytes(count % kBlockElements);
}

// The first n elements of a whole block's payload, as the payload of a block of n elements.
template <class Element>
void pack(const std::byte* whole, std::size_t n, std::byte* to) {
  using P = Packing<Element::kBits>;
  if (n == kBlockElements || Element::kBits != 4) {
    std::memcpy(to, whole, P::bytes(n));
    return;
  }
  std::memset(to, 0, P::bytes(n));
  for (std::size_t i = 0; i < n; ++i) {
    P::put(to, i, n, P::template get<typename Element::Payload>(whole, i, kBlockElements));
  }
}

// The other way; the rest of `whole` keeps its bits.
template <class Element>
void unpack(const std::byte* from, std::size_t n, std::byte* whole) {
  using P = Packing<Element::kBits>;
  if constexpr (Element::kBits != 4) {
    std::memcpy(whole, from, P::bytes(n));
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      P::put(whole, i, kBlockElements, P::template get<typename Element::Payload>(from, i, n));
    }
  }
}

}  // namespace thinwire::compression
