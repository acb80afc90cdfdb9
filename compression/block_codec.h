// BlockCodec: what the block-scaled codecs share, given a Format. Immutable; any thread.
//
// Frame: header | a code a block | a payload a element | escapes, in block order. Works in tiles
// of kTileBlocks blocks so that the passes over one tile meet it in the first-level cache.
//
// A Format says what a code, a scale and a payload are:
//   Element              how one element is coded (element_codes.h); kKernels its kernels
//   Code, kCodeBytes     unsigned integer, one a block; 0 bytes where elements have no scale: then
//                        of the following only kId, kHasNative and kNative are needed
//   kId, kRule           kRule bounds what one scale may cover (segments.h)
//   kHasNative           elements of type kNative travel as they are, without codes
//   kSegmentedCode       the block's escape is: u8 m, m x u8 end, (m + 1) x Code
//   kRawCode, kHasRaw    the block travels as it is: its first bytes as payload, the rest escape
//   max_escape_bytes(n, element_bytes)
//   code_for(absmax)     kRawCode where no scale serves
//   is_plain(code), scaling(code), unscaling(code)     factors of encode and decode
//   kLargestPlain        no scale, or not the kernel's encoding, serves a larger magnitude (bits)
//   is_scalar(code)      the kernel's encoding does not do: corrected(payload, code) does
#pragma once

#include "compression/codec.h"
#include "compression/frame.h"
#include "compression/segments.h"

namespace thinwire::compression {

template <class Format>
class BlockCodec final : public Codec {
 public:
  explicit BlockCodec(bool stochastic) : stochastic_(stochastic) {}

  CodecId id() const override { return Format::kId; }
  bool supports(DataType type) const override { return is_compressible(type); }
  std::size_t max_encoded_bytes(std::size_t count, DataType type) const override;
  std::size_t encode(const void* elements, DataType type, std::size_t count, std::byte* wire,
                     const EncodeContext& context) const override;
  Status decode(const std::byte* wire, std::size_t wire_bytes, DataType type, std::size_t count,
                void* elements) const override;
  Status decode_add(const std::byte* wire, std::size_t wire_bytes, std::size_t count,
                    float* accumulator) const override;
  Result<std::size_t> decode_add_encode(const std::byte* from, std::size_t from_bytes,
                                        std::size_t count, float* accumulator, std::byte* wire,
                                        const EncodeContext& context) const override;

 private:
  bool stochastic_;
};

}  // namespace thinwire::compression
