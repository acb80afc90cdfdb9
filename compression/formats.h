// Formats of the block-scaled codecs (block_codec.h says what each member means). Pure.
#pragma once

#include "compression/codec.h"
#include "compression/float_bits.h"
#include "compression/kernels/kernels.h"
#include "compression/segments.h"

namespace thinwire::compression {

// 16-bit floating point times a power of two. A block whose largest finite magnitude lies in
// [2^a, 2^(a+1)) is scaled by 2^(14-a), so nothing overflows and the 28 binades below it keep 11
// bits. Bounds for x in a prefix of a block with largest finite magnitude M (M of the whole block
// where the data do not jump by more than 2^16):
//   |error| <= max(|x| * 2^-11, M * 2^-23, 2^-126); Inf and NaN stay, with their signs.
// Elements that are float16 already travel unchanged.
struct Fp16Format {
  using Code = std::uint8_t;  // the biased exponent of the largest magnitude, at least kLeast
  using Payload = std::uint16_t;
  static constexpr CodecId kId = CodecId::fp16;
  static constexpr std::string_view kName = "fp16";
  static constexpr SegmentRule kRule{16, 16, 0x00800000u};
  static constexpr Code kSegmentedCode = 255;
  static constexpr Code kRawCode = 0;
  static constexpr bool kHasRaw = false;
  static constexpr bool kKeepsNonFinite = true;
  static constexpr Code kLeast = 15, kLargest = 254;
  static constexpr std::uint32_t kLargestPlain = 0x7effffffu;

  static constexpr std::size_t max_escape_bytes(std::size_t n, std::size_t) {
    constexpr std::size_t kMost = 277 / 16 + 1;  // segments that the range of float32 holds
    return 2 * (n < kMost ? n : kMost);
  }
  static Code code_for(std::uint32_t absmax_bits) {
    const std::uint32_t exponent = absmax_bits >> 23;
    return static_cast<Code>(exponent < kLeast ? kLeast : exponent);
  }
  static bool is_plain(Code code) { return code >= kLeast && code <= kLargest; }
  static float scaling(Code code) { return float_of(static_cast<std::uint32_t>(268 - code) << 23); }
  static float unscaling(Code code) {
    return float_of(static_cast<std::uint32_t>(code - 14) << 23);
  }
  static constexpr float kSmallestScaling = 0x1p-113f;  // that of kLargest
  // Rounding up at the very end of float32's range would turn a finite value into Inf.
  static bool is_scalar(Code code) { return code == kLargest; }
  static Payload encode_one(float x, float scaling) {
    constexpr std::uint16_t kTop = 0x77ff;  // the largest below 2^15
    const std::uint16_t half = float16_from_float(x * scaling);
    const auto magnitude = static_cast<std::uint16_t>(half & 0x7fffu);
    const bool carried = scaling == kSmallestScaling && magnitude > kTop && magnitude < 0x7c00u;
    return carried ? static_cast<Payload>((half & 0x8000u) | kTop) : half;
  }
  static float decode_one(Payload half, float unscaling) {
    return float_from_float16(half) * unscaling;
  }
  static void encode_blocks(const float* x, std::size_t blocks, const float* scaling, void* to) {
    kernels().fp16_encode(x, blocks, scaling, to);
  }
  static void decode_blocks(const void* from, std::size_t blocks, const float* unscaling,
                            float* out) {
    kernels().fp16_decode(from, blocks, unscaling, out);
  }
  static void decode_add_blocks(const void* from, std::size_t blocks, const float* unscaling,
                                float* out) {
    kernels().fp16_decode_add(from, blocks, unscaling, out);
  }
};

// 8-bit integers times a bfloat16 scale, absmax / 127 rounded up; round to nearest even. Bounds
// for x in a prefix of a block, with M the prefix's largest magnitude:
//   |error| <= max(J * M / 252, 2^-119), where J = 1 when the block's other elements are at most M
//   or more than J(b) * M, and J <= J(b) always; J(b) = 32, 16, 8 for prefixes of at least 1, 2, 4
//   elements and 4 for 8 and more.
// Blocks that no scale serves travel raw: non-finite values, all magnitudes below 2^-119, a
// magnitude above 2^127, or one so near float16's largest that rounding would carry it to Inf.
struct Int8Format {
  using Code = std::uint16_t;
  using Payload = std::uint8_t;
  static constexpr CodecId kId = CodecId::int8;
  static constexpr std::string_view kName = "int8";
  static constexpr std::uint32_t kTiny = (127u - 119u) << 23;
  static constexpr std::uint32_t kLargestPlain = (127u + 127u) << 23;
  static constexpr SegmentRule kRule{5, 2, kTiny};
  static constexpr Code kSegmentedCode = 0xffff;
  static constexpr Code kRawCode = 0xfffe;
  static constexpr bool kHasRaw = true;
  static constexpr bool kKeepsNonFinite = false;

  static constexpr std::size_t max_escape_bytes(std::size_t n, std::size_t element_bytes) {
    return n * (element_bytes - 1);
  }
  static Code code_for(std::uint32_t absmax_bits) {
    if (absmax_bits == 0) return 0;
    if (absmax_bits < kTiny || absmax_bits > kLargestPlain) return kRawCode;
    const float absmax = float_of(absmax_bits);
    if (absmax > 65240.0f && absmax < 65520.0f) return kRawCode;
    return static_cast<Code>((bits_of(absmax / 127.0f) + 0xffffu) >> 16);
  }
  static bool is_plain(Code code) { return code < 0x7f80; }
  static float unscaling(Code code) { return float_from_bfloat16(code); }
  static float scaling(Code code) { return code == 0 ? 0.0f : 1.0f / unscaling(code); }
  static bool is_scalar(Code) { return false; }
  static Payload encode_one(float x, float scaling) {
    return static_cast<Payload>(bits_of(x * scaling + 0x1.8p23f) & 0xffu);
  }
  static float decode_one(Payload q, float unscaling) {
    return static_cast<float>(static_cast<std::int8_t>(q)) * unscaling;
  }
  static void encode_blocks(const float* x, std::size_t blocks, const float* scaling, void* to) {
    kernels().int8_encode(x, blocks, scaling, to);
  }
  static void decode_blocks(const void* from, std::size_t blocks, const float* unscaling,
                            float* out) {
    kernels().int8_decode(from, blocks, unscaling, out);
  }
  static void decode_add_blocks(const void* from, std::size_t blocks, const float* unscaling,
                                float* out) {
    kernels().int8_decode_add(from, blocks, unscaling, out);
  }
};

}  // namespace thinwire::compression
