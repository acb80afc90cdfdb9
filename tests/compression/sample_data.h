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
                              std::size_t count, const EncodeContext& context = {});
inline std::vector<std::byte> encode(const Codec& codec, const Elements& elements, DataType type,
                                     const EncodeContext& context = {}) {
  return encode(codec, elements.data(), type, elements.values().size(), context);
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
inline constexpr CodecId kBlockCodecs[] = {CodecId::fp16, CodecId::bf16,     CodecId::int8,
                                           CodecId::int4, CodecId::fp8_e4m3, CodecId::fp8_e5m2};

// The codec that `text` names (parse_codec()), made once.
const Codec& codec_of(const std::string& text);
// Lossy ones in every form; of the top-k ones the last sends bitmaps.
inline constexpr const char* kLossyTexts[] = {
    "fp16",    "bf16",    "int8",        "int4",        "fp8-e4m3",  "fp8-e5m2",       "bf16:sr",
    "int8:sr", "int4:sr", "fp8-e4m3:sr", "fp8-e5m2:sr", "topk:0.01", "topk:0.03:fp16", "topk:0.3"};
// `text` as the name of a test.
std::string test_name(std::string text);

// The bound that docs/numerics.md states for element x of a prefix whose largest magnitude is
// `largest`, rounding to nearest.
double error_bound(CodecId id, double x, double largest);
// Same for stochastic rounding: one step instead of half of one.
double stochastic_bound(CodecId id, double x, double largest);

}  // namespace thinwire::compression
