// Sample data of every kind that codecs and reductions must survive. Reproducible; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/data_type.h"
#include "compression/codec.h"
#include "compression/simd.h"

namespace thinwire::compression {

enum class Kind {
  gaussian,
  constant,
  denormal,
  huge,
  spiky,
  heavy_tailed,
  non_finite,
  zeros,
  sparse,
  every_exponent,
};
inline constexpr Kind kKinds[] = {
    Kind::gaussian,     Kind::constant,   Kind::denormal, Kind::huge,   Kind::spiky,
    Kind::heavy_tailed, Kind::non_finite, Kind::zeros,    Kind::sparse, Kind::every_exponent};
const char* name_of(Kind kind);

std::vector<float> sample(Kind kind, std::size_t count, std::uint32_t seed);

// `values` as elements of `type`, at `offset` elements past an aligned address.
class Elements {
 public:
  Elements(std::span<const float> values, DataType type, std::size_t offset = 0);
  const void* data() const { return data_; }
  // What the elements are worth.
  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<std::uint64_t> storage_;
  std::byte* data_;
  std::vector<float> values_;
};

// encode(), in a buffer whose bytes past max_encoded_bytes() must stay as they were.
std::vector<std::byte> encode(const Codec& codec, const void* elements, DataType type,
                              std::size_t count);
inline std::vector<std::byte> encode(const Codec& codec, const Elements& elements, DataType type) {
  return encode(codec, elements.data(), type, elements.values().size());
}

// decode() of a frame that must be fine, to float32.
std::vector<float> decode(const Codec& codec, std::span<const std::byte> wire, std::size_t count);

// Uses `target` until destroyed.
class ForcedTarget {
 public:
  explicit ForcedTarget(SimdTarget target) { force_target(target); }
  ~ForcedTarget() { force_target(supported_targets().back()); }
};

bool same_bits(std::span<const float> a, std::span<const float> b);

inline constexpr DataType kLossyTypes[] = {DataType::float32, DataType::bfloat16,
                                           DataType::float16};
inline constexpr CodecId kLossyCodecs[] = {CodecId::fp16, CodecId::int8};

}  // namespace thinwire::compression
