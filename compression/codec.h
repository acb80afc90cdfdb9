// Codec: how the elements of one piece are written on the wire. Stateless and shared; any thread.
//
// Encoded bytes depend only on the elements, never on SIMD target, alignment or call history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/data_type.h"
#include "base/status.h"

namespace thinwire::compression {

enum class CodecId : std::uint8_t { none, fp16, int8 };

// `type` below is the type of the elements in memory: any type for `none`; float32, float16 or
// bfloat16 for the lossy codecs. Pointers need no more alignment than the element type's; wire
// pointers need none. Nothing here allocates or blocks. Buffers must not overlap.
class Codec {
 public:
  virtual ~Codec() = default;
  virtual CodecId id() const = 0;
  virtual std::string_view name() const = 0;
  virtual bool lossy() const = 0;
  virtual bool supports(DataType type) const = 0;

  // Upper bound of encode() for `count` elements of `type`; equal on all ranks; 0 for 0.
  virtual std::size_t max_encoded_bytes(std::size_t count, DataType type) const = 0;

  // Writes `count` elements to `wire` (max_encoded_bytes() of room); returns the bytes written.
  virtual std::size_t encode(const void* elements, DataType type, std::size_t count,
                             std::byte* wire) const = 0;

  // Reads exactly `count` elements from `wire_bytes` bytes. A frame that does not say that many,
  // is too short, too long or malformed is Code::peer_lost; `elements` is then unspecified but
  // nothing outside it was touched.
  virtual Status decode(const std::byte* wire, std::size_t wire_bytes, DataType type,
                        std::size_t count, void* elements) const = 0;

  // Same, and accumulator[i] += element i, in float32. Lossy codecs only (sum only).
  virtual Status decode_add(const std::byte* wire, std::size_t wire_bytes, std::size_t count,
                            float* accumulator) const = 0;
};

// The codec's single instance (static storage, immutable).
const Codec& codec(CodecId id);

}  // namespace thinwire::compression
