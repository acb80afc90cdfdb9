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
#include "compression/noise.h"
#include "compression/segments.h"

namespace thinwire::compression {

// Elements that share a scale; the codecs' blocks. Pointers need no alignment beyond the
// element's; those of type void or of 1-byte types need none.
inline constexpr std::size_t kBlockElements = 256;

// Formats of the block codecs, by place in the tables.
enum BlockFormat { kFp16, kInt8, kBf16, kInt4, kE4m3, kE5m2, kBlockFormatCount };

// Whole blocks to encode, element by element as element_codes.h does.
struct BlockJob {
  const float* x;
  std::size_t blocks;
  const float* scaling;    // one a block, and its inverse
  const float* unscaling;  // (with `residual` alone)
  void* payload;
  float* residual;        // null, or becomes x - decoded
  const NoiseKey* noise;  // null, or rounds stochastically
  std::uint32_t first;    // index of x[0] for the noise
};

struct BlockKernels {
  void (*encode)(const BlockJob& job);
  // out = element
  void (*decode)(const void* payload, std::size_t blocks, const float* unscaling, float* out);
  // out = out + element; a NaN result is the canonical one.
  void (*decode_add)(const void* payload, std::size_t blocks, const float* unscaling, float* out);
};

struct Kernels {
  // Per block of kBlockElements floats: the largest x & 0x7fffffff, as an unsigned integer, and
  // the limit below which one segment does (segments.h; too low where x begins with zeros).
  void (*survey)(const float* x, std::size_t blocks, const SegmentRule& rule,
                 std::uint32_t* absmax_bits, std::uint32_t* limit_bits);

  // The first i in [begin, end) with x[i] & 0x7fffffff above `limit_bits` (< 2^31), else end.
  std::size_t (*first_above)(const float* x, std::size_t begin, std::size_t end,
                             std::uint32_t limit_bits);

  // out = x + residual, within +-limit; x where that is not finite. `out` may be `x`.
  void (*add_residual)(const float* x, const float* residual, float limit, std::size_t count,
                       float* out);

  // Bit i of `bitmap` becomes whether x[i] & 0x7fffffff is above `limit_bits` (below infinity's);
  // returns how many are. For 64 elements a word.
  std::size_t (*mark_above)(const float* x, std::size_t words, std::uint32_t limit_bits,
                            std::uint64_t* bitmap);
  // Same of x + residual within +-largest, which becomes the residual; an x that is not finite is
  // marked and leaves its residual as it is.
  std::size_t (*mark_sums)(const float* x, float* residual, float largest, std::size_t words,
                           std::uint32_t limit_bits, std::uint64_t* bitmap);
  // Writes the indices (uint16) of the bits that are set; may write two more than there are.
  void (*extract)(const std::uint64_t* bitmap, std::size_t words, void* indices);

  // Copies past the caches where the processor can: for memory that nobody reads soon. `to` lies on
  // 64 bytes, `bytes` is a multiple of 64. Other threads may be told only after flush().
  void (*stream)(const void* from, std::size_t bytes, void* to);
  void (*flush)();

  BlockKernels block[kBlockFormatCount];

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
