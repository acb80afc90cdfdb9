// Codec: how the elements of one piece are written on the wire. Stateless and immutable; any
// thread.
//
// Encoded bytes depend only on the elements and the EncodeContext, never on SIMD target, alignment
// or call history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/data_type.h"
#include "base/status.h"
#include "compression/codec_spec.h"

namespace thinwire::compression {

// What one encode() may know beyond its elements. Lossy codecs heed it, `none` does not.
struct EncodeContext {
  // Error feedback: `count` finite floats that are added to the elements before they are encoded
  // (the sum saturates at the element type's largest) and replaced by what this encoding lost, so
  // that elements + old residual = decoded + new residual. Elements that are not finite travel
  // without it and leave it as it is, and so does all of a block that holds one (256 elements; for
  // top-k: the element alone).
  float* residual = nullptr;
  // Elements from this one on are stale: they travel as zeros, their residual stays as it is.
  std::size_t valid = SIZE_MAX;
  // Seed of stochastic rounding: a hash of all that tells this encode from others (seed, operation,
  // rank, piece). The codec hashes the element into it.
  std::uint64_t noise = 0;
  // Top-k's memory from one encoding of these elements to the next, which saves it a sample: 0 at
  // first, else what it left there.
  std::uint32_t* limit = nullptr;
};

// `type` below is the type of the elements in memory: any type for `none`; float32, float16 or
// bfloat16 for the lossy codecs. Pointers need no more alignment than the element type's; wire
// pointers need none. Nothing here allocates or blocks. Buffers must not overlap.
class Codec {
 public:
  virtual ~Codec() = default;
  virtual CodecId id() const = 0;
  virtual std::string_view name() const { return name_of(id()); }
  virtual bool lossy() const { return true; }
  virtual bool supports(DataType type) const = 0;

  // Upper bound of encode() for `count` elements of `type`; equal on all ranks; 0 for 0.
  virtual std::size_t max_encoded_bytes(std::size_t count, DataType type) const = 0;

  // Writes `count` elements to `wire` (max_encoded_bytes() of room); returns the bytes written.
  virtual std::size_t encode(const void* elements, DataType type, std::size_t count,
                             std::byte* wire, const EncodeContext& context = {}) const = 0;

  // Reads exactly `count` elements from `wire_bytes` bytes. A frame that does not say that many,
  // is too short, too long or malformed is Code::peer_lost; `elements` is then unspecified but
  // nothing outside it was touched.
  virtual Status decode(const std::byte* wire, std::size_t wire_bytes, DataType type,
                        std::size_t count, void* elements) const = 0;

  // Same, and accumulator[i] += element i, in float32. Lossy codecs only (sum only).
  virtual Status decode_add(const std::byte* wire, std::size_t wire_bytes, std::size_t count,
                            float* accumulator) const = 0;

  // decode_add() of `from`, then encode() of the accumulator to `wire`: what the owner of a piece
  // does last. Returns the bytes written. The bytes and the sums are those of the two calls; the
  // block codecs go through both tile by tile, so that the accumulator is read once from memory.
  // After a malformed frame the residual is unspecified too.
  virtual Result<std::size_t> decode_add_encode(const std::byte* from, std::size_t from_bytes,
                                                std::size_t count, float* accumulator,
                                                std::byte* wire,
                                                const EncodeContext& context) const;
};

// A codec with its parameters. Never null; `spec` must be one that parse_codec() gives.
std::unique_ptr<const Codec> make_codec(const CodecSpec& spec);

// The single instance (static storage) of a codec without parameters: not top-k.
const Codec& codec(CodecId id);

}  // namespace thinwire::compression
