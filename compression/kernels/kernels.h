// Kernels: the loops that differ between instruction sets, as one table of functions each.
// Immutable, static storage; any thread.
//
// A target's table lives in a translation unit built for that instruction set. Such a unit may
// not use any inline function or template from outside its own namespace (std, base): the linker
// keeps one copy of those, and it could keep the one with the wide instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/data_type.h"
#include "compression/segments.h"

namespace thinwire::compression {

// Elements that share a scale; the codecs' blocks. Pointers need no alignment beyond the
// element's; those of type void or of 1-byte types need none.
inline constexpr std::size_t kBlockElements = 256;

struct Kernels {
  // Per block of kBlockElements floats: the largest x & 0x7fffffff, as an unsigned integer, and
  // the limit below which one segment does (segments.h; too low where x begins with zeros).
  void (*survey)(const float* x, std::size_t blocks, const SegmentRule& rule,
                 std::uint32_t* absmax_bits, std::uint32_t* limit_bits);

  // The first i in [begin, end) with x[i] & 0x7fffffff above `limit_bits` (< 2^31), else end.
  std::size_t (*first_above)(const float* x, std::size_t begin, std::size_t end,
                             std::uint32_t limit_bits);

  // q = round to nearest even(x * inverse[block]); the products lie within +-127.5.
  void (*int8_encode)(const float* x, std::size_t blocks, const float* inverse, void* q);
  // out = q * scale[block]
  void (*int8_decode)(const void* q, std::size_t blocks, const float* scale, float* out);
  // out = out + q * scale[block]; a NaN result is the canonical one.
  void (*int8_decode_add)(const void* q, std::size_t blocks, const float* scale, float* out);

  // half = float16(x * scale[block]), and back.
  void (*fp16_encode)(const float* x, std::size_t blocks, const float* scale, void* half);
  void (*fp16_decode)(const void* half, std::size_t blocks, const float* scale, float* out);
  void (*fp16_decode_add)(const void* half, std::size_t blocks, const float* scale, float* out);

  // reduce.h; null where the accumulator is of the type itself (a plain copy).
  void (*load[kDataTypeCount])(const void* elements, void* accumulator, std::size_t count);
  void (*store[kDataTypeCount])(const void* accumulator, void* elements, std::size_t count);
  void (*reduce[kReduceOpCount][kDataTypeCount])(const void* elements, void* accumulator,
                                                 std::size_t count);
};

// The tables this binary holds. Calling into one the processor cannot run is undefined.
const Kernels& scalar_kernels();
const Kernels& sse4_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& neon_kernels();

// That of current_target().
const Kernels& kernels();

}  // namespace thinwire::compression
