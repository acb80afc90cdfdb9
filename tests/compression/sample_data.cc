#include "tests/compression/sample_data.h"

#include <gtest/gtest.h>

#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>

#include "compression/reduce.h"

namespace thinwire::compression {
namespace {

using Random = std::mt19937;

float any_bits(Random& random) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
}

float one_of(Kind kind, std::size_t i, Random& random) {
  std::normal_distribution<float> normal;
  const auto chance = [&](unsigned of) { return random() % of == 0; };
  switch (kind) {
    case Kind::gaussian:
      return normal(random);
    case Kind::constant:
      return -0.3f;
    case Kind::denormal:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x807fffffu));
    case Kind::huge:
      return normal(random) * 1e38f;
    case Kind::spiky:
      return normal(random) * (chance(200) ? 1e6f : 1.0f);
    case Kind::heavy_tailed:
      return normal(random) * std::exp(4 * normal(random));
    case Kind::non_finite: {
      if (!chance(300)) return normal(random);
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      const float value =
          chance(2)
              ? kInfinity
              : std::bit_cast<float>(0x7f800001u + static_cast<std::uint32_t>(random() % 1000));
      return chance(2) ? value : -value;
    }
    case Kind::zeros:
      return i % 3 == 0 ? -0.0f : 0.0f;
    case Kind::sparse:
      return chance(20) ? normal(random) : 0.0f;
    case Kind::every_exponent: {
      const float value = any_bits(random);
      return std::isfinite(value) ? value : 1.0f;
    }
  }
  return 0;
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"gaussian", "constant",      "denormal",   "huge",
                                    "spiky",    "heavy_tailed",  "non_finite", "zeros",
                                    "sparse",   "every_exponent"};
  return kNames[static_cast<int>(kind)];
}

std::vector<float> sample(Kind kind, std::size_t count, std::uint32_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = one_of(kind, i, random);
    if (kind == Kind::huge && !std::isfinite(values[i])) values[i] = 3e38f;
  }
  return values;
}

Elements::Elements(std::span<const float> values, DataType type, std::size_t offset)
    : storage_((values.size() + offset) * sizeof(float) / 8 + 1),
      data_(reinterpret_cast<std::byte*>(storage_.data()) + offset * element_bytes(type)),
      values_(values.size()) {
  const ForcedTarget forced(SimdTarget::scalar);
  store(type, values.data(), data_, values.size());
  load(type, data_, values_.data(), values.size());
}

std::vector<std::byte> encode(const Codec& codec, const void* elements, DataType type,
                              std::size_t count, const EncodeContext& context) {
  constexpr std::byte kGuard{0xA5};
  const std::size_t most = codec.max_encoded_bytes(count, type);
  std::vector<std::byte> wire(most + 64, kGuard);
  const std::size_t bytes = codec.encode(elements, type, count, wire.data(), context);
  EXPECT_LE(bytes, most);
  for (std::size_t i = most; i < wire.size(); ++i) EXPECT_EQ(wire[i], kGuard) << "overrun";
  wire.resize(bytes);
  return wire;
}

std::vector<float> decode(const Codec& codec, std::span<const std::byte> wire, std::size_t count) {
  std::vector<float> out(count);
  const Status status =
      codec.decode(wire.data(), wire.size(), DataType::float32, count, out.data());
  EXPECT_TRUE(status.ok()) << status.text();
  return out;
}

const Codec& codec_of(const std::string& text) {
  static std::map<std::string, std::unique_ptr<const Codec>> made;
  auto& codec = made[text];
  if (codec == nullptr) codec = make_codec(parse_codec(text).value());
  return *codec;
}

std::string test_name(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

double error_bound(CodecId id, double x, double largest) {
  x = std::fabs(x);
  switch (id) {
    case CodecId::fp16:
      return std::max({x * 0x1p-11, largest * 0x1p-23, 0x1p-126});
    case CodecId::bf16:
      return std::max(x * 0x1p-8, 0x1p-133);
    case CodecId::int8:
      return std::max(largest / 252, 0x1p-119);
    case CodecId::int4:
      return std::max(std::min(x, largest / 13.89), 0x1p-119);
    case CodecId::fp8_e4m3:
      return std::max({x * 0x1p-4, largest * 0x1p-17, 0x1p-126});
    case CodecId::fp8_e5m2:
      return std::max({x * 0x1p-3, largest * 0x1p-31, 0x1p-126});
    default:
      return 0;
  }
}

double stochastic_bound(CodecId id, double x, double largest) {
  if (id == CodecId::int4) return std::max(largest / 6.94, 0x1p-119);
  return 2 * error_bound(id, x, largest);
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace thinwire::compression
