// The stale tail: whatever follows the valid elements of a block, they keep the bound computed
// from themselves alone (docs/numerics.md).

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "tests/compression/sample_data.h"

namespace thinwire::compression {
namespace {

constexpr std::size_t kBlock = 256;

enum class Poison { fill33, fill66, fill_ff, huge, nan, infinity, doubles, larger_1000, larger_7 };
constexpr Poison kPoisons[] = {Poison::fill33,  Poison::fill66,      Poison::fill_ff,
                               Poison::huge,    Poison::nan,         Poison::infinity,
                               Poison::doubles, Poison::larger_1000, Poison::larger_7};

// Overwrites elements[from, kBlock) of `type`.
void poison(Poison kind, std::byte* elements, DataType type, std::size_t from) {
  const std::size_t size = element_bytes(type), bytes = (kBlock - from) * size;
  std::byte* const tail = elements + from * size;
  const auto repeat = [&](float value) {
    const Elements filled(std::vector<float>(kBlock - from, value), type);
    std::memcpy(tail, filled.data(), bytes);
  };
  switch (kind) {
    case Poison::fill33:
      std::memset(tail, 0x33, bytes);
      break;
    case Poison::fill66:
      std::memset(tail, 0x66, bytes);
      break;
    case Poison::fill_ff:
      std::memset(tail, 0xff, bytes);
      break;
    case Poison::huge:
      return repeat(type == DataType::float16 ? 6e4f : -3e38f);
    case Poison::nan:
      return repeat(NAN);
    case Poison::infinity:
      return repeat(-INFINITY);
    case Poison::doubles:
      for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
        const double value = 1.0 / static_cast<double>(i + 3);
        std::memcpy(tail + i, &value, 8);
      }
      break;
    case Poison::larger_1000:
      return repeat(4000.0f);
    case Poison::larger_7:
      return repeat(20.0f);
  }
}

struct TailCase {
  CodecId id;
  DataType type;
  Poison kind;
  std::size_t valid;
};

// The multiple J(b) of a prefix's largest magnitude that its scale may reach (formats.h); the
// bounds of the others have it in them.
double allowed_jump(CodecId id, std::size_t valid) {
  if (id == CodecId::fp8_e4m3) return 256;
  if (id == CodecId::fp8_e5m2) return 65536;
  if (id != CodecId::int8 && id != CodecId::int4) return 1;
  return valid >= 8 ? 4 : valid >= 4 ? 8 : valid >= 2 ? 16 : 32;
}

// By how much the worst valid element exceeds the bound with `jump` times the valid elements'
// largest magnitude.
double worst_factor(const TailCase& c, Kind data, double jump) {
  const Elements clean(sample(data, kBlock, static_cast<std::uint32_t>(c.valid)), c.type);
  std::vector<std::byte> bytes(kBlock * element_bytes(c.type));
  std::memcpy(bytes.data(), clean.data(), bytes.size());
  poison(c.kind, bytes.data(), c.type, c.valid);
  std::vector<std::uint64_t> aligned(bytes.size() / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const Codec& used = codec(c.id);
  const auto decoded = decode(used, encode(used, aligned.data(), c.type, kBlock), kBlock);
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < c.valid; ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(clean.values()[i])));
  }
  for (std::size_t i = 0; i < c.valid; ++i) {
    const double x = clean.values()[i];
    const double share = error_bound(c.id, x, largest * jump);
    worst = std::max(worst, std::fabs(x - decoded[i]) / share);
  }
  return worst;
}

// The worst factor over all types and lengths.
double largest_factor(CodecId id, Poison kind, Kind data, bool with_jump) {
  double worst = 0;
  for (const DataType type : kLossyTypes) {
    for (std::size_t valid = 1; valid < kBlock; ++valid) {
      const double jump = with_jump ? allowed_jump(id, valid) : 1;
      worst = std::max(worst, worst_factor({id, type, kind, valid}, data, jump));
    }
  }
  return worst;
}

constexpr Kind kData[] = {Kind::gaussian, Kind::heavy_tailed, Kind::constant, Kind::sparse,
                          Kind::zeros,    Kind::spiky,        Kind::denormal};

class StaleTail : public testing::TestWithParam<CodecId> {};

TEST_P(StaleTail, EveryLengthAndPoison_KeepsTheBoundOfTheValidElements) {
  for (const Poison kind : kPoisons) {
    for (const Kind data : kData) {
      EXPECT_LE(largest_factor(GetParam(), kind, data, true), 1.0)
          << static_cast<int>(kind) << ' ' << name_of(data);
    }
  }
}

// Poison further above everything valid than any J(b) must not cost anything.
TEST_P(StaleTail, PoisonFarAboveTheData_CostsNothing) {
  for (const Poison kind : {Poison::fill66, Poison::fill_ff, Poison::huge, Poison::nan,
                            Poison::infinity, Poison::larger_1000}) {
    for (const Kind data : {Kind::gaussian, Kind::constant}) {
      EXPECT_LE(largest_factor(GetParam(), kind, data, false), 1.0)
          << static_cast<int>(kind) << ' ' << name_of(data);
    }
  }
}

// The guarantee holds for every prefix of any block, since nobody knows where validity ends.
INSTANTIATE_TEST_SUITE_P(All, StaleTail, testing::ValuesIn(kBlockCodecs),
                         [](const auto& p) { return test_name(std::string(name_of(p.param))); });

TEST(StaleTailInt8, EveryPrefixOfAnyBlock_WithinTheAllowedMultipleOfItsOwnBound) {
  for (const Kind data : kKinds) {
    if (data == Kind::non_finite) continue;
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
      const auto x = sample(data, kBlock, seed);
      const Codec& used = codec(CodecId::int8);
      const auto y = decode(used, encode(used, x.data(), DataType::float32, kBlock), kBlock);
      double largest = 0;
      for (std::size_t i = 0; i < kBlock; ++i) {
        largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
        const double error = std::fabs(static_cast<double>(x[i]) - y[i]);
        ASSERT_LE(error, std::max(allowed_jump(CodecId::int8, i + 1) * largest / 252, 0x1p-119))
            << name_of(data) << ' ' << i;
      }
    }
  }
}

TEST(StaleTailInt8, OneSpike_CostsAFewBytes) {
  auto x = sample(Kind::constant, kBlock, 0);
  const Codec& used = codec(CodecId::int8);
  const auto plain = encode(used, x.data(), DataType::float32, kBlock).size();
  x[100] = 1e20f;
  EXPECT_LE(encode(used, x.data(), DataType::float32, kBlock).size(), plain + 8);
}

}  // namespace
}  // namespace thinwire::compression
