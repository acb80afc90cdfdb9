// The error bounds of numerics.md on every kind of data, and the known error on Gaussian data.

#include <gtest/gtest.h>

#include <cmath>

#include "compression/reduce.h"
#include "tests/compression/sample_data.h"

namespace thinwire::compression {
namespace {

constexpr std::size_t kBlock = 256;

double absmax(std::span<const float> values) {
  double largest = 0;
  for (const float v : values) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(static_cast<double>(v)));
  }
  return largest;
}

// Non-finite elements must come back as what they were, finite ones within the bound.
void expect_element(CodecId id, float x, float y, double block_absmax) {
  if (std::isnan(x)) {
    ASSERT_TRUE(std::isnan(y));
    ASSERT_EQ(std::signbit(x), std::signbit(y));
  } else if (std::isinf(x)) {
    ASSERT_EQ(x, y);
  } else {
    ASSERT_TRUE(std::isfinite(y)) << x;
    const double error = std::fabs(static_cast<double>(x) - y);
    ASSERT_LE(error, error_bound(id, x, block_absmax)) << x << " became " << y;
  }
}

void expect_bounded(CodecId id, std::span<const float> x, std::span<const float> y) {
  for (std::size_t first = 0; first < x.size(); first += kBlock) {
    const std::size_t n = std::min(kBlock, x.size() - first);
    const double largest = absmax(x.subspan(first, n));
    for (std::size_t i = first; i < first + n; ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_element(id, x[i], y[i], largest)) << "element " << i;
    }
  }
}

class CodecBounds : public testing::TestWithParam<CodecId> {};

TEST_P(CodecBounds, EveryKindOfData_WithinTheStatedBound) {
  for (const Kind kind : kKinds) {
    for (const DataType type : kLossyTypes) {
      SCOPED_TRACE(std::string(name_of(kind)) + " " + name_of(type));
      const Elements elements(sample(kind, 20011, 7), type);
      const auto wire = encode(codec(GetParam()), elements, type);
      const auto decoded = decode(codec(GetParam()), wire, elements.values().size());
      expect_bounded(GetParam(), elements.values(), decoded);
    }
  }
}

TEST_P(CodecBounds, EncodingWhatWasDecoded_ChangesLittle) {
  const auto values = sample(Kind::gaussian, 5000, 3);
  const Codec& c = codec(GetParam());
  const auto once = decode(c, encode(c, values.data(), DataType::float32, values.size()), 5000);
  const auto twice = decode(c, encode(c, once.data(), DataType::float32, once.size()), 5000);
  if (GetParam() == CodecId::fp16 || GetParam() == CodecId::bf16) {
    EXPECT_TRUE(same_bits(once, twice));  // idempotent: the scale is a power of two, or none
  } else {
    expect_bounded(GetParam(), once, twice);
  }
}

TEST_P(CodecBounds, DecodeAdd_AddsWhatDecodeGives) {
  for (const Kind kind : kKinds) {
    const auto values = sample(kind, 3001, 5);
    const Codec& c = codec(GetParam());
    const auto wire = encode(c, values.data(), DataType::float32, values.size());
    const auto decoded = decode(c, wire, values.size());
    auto sum = sample(Kind::gaussian, values.size(), 6);
    auto expected = sum;
    reduce(DataType::float32, ReduceOp::sum, decoded.data(), expected.data(), expected.size());
    ASSERT_TRUE(c.decode_add(wire.data(), wire.size(), sum.size(), sum.data()).ok());
    EXPECT_TRUE(same_bits(sum, expected)) << name_of(kind);
  }
}

TEST_P(CodecBounds, NarrowTarget_IsRoundedOnce) {
  for (const DataType type : {DataType::bfloat16, DataType::float16}) {
    const auto values = sample(Kind::gaussian, 3001, 9);
    const Codec& c = codec(GetParam());
    const auto wire = encode(c, values.data(), DataType::float32, values.size());
    const auto wide = decode(c, wire, values.size());
    std::vector<std::uint16_t> narrow(values.size()), expected(values.size());
    ASSERT_TRUE(c.decode(wire.data(), wire.size(), type, narrow.size(), narrow.data()).ok());
    store(type, wide.data(), expected.data(), wide.size());
    EXPECT_EQ(narrow, expected) << name_of(type);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CodecBounds, testing::ValuesIn(kBlockCodecs), [](const auto& p) {
  return test_name(std::string(codec(p.param).name()));
});

double relative_rms(CodecId id, std::span<const float> x) {
  const auto y =
      decode(codec(id), encode(codec(id), x.data(), DataType::float32, x.size()), x.size());
  double error = 0, energy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error += std::pow(static_cast<double>(x[i]) - y[i], 2);
    energy += std::pow(static_cast<double>(x[i]), 2);
  }
  return std::sqrt(error / energy);
}

struct Known {
  CodecId id;
  double error;  // docs/numerics.md
  double bytes_per_element;
};

class KnownError : public testing::TestWithParam<Known> {};

TEST_P(KnownError, GaussianData_HasTheKnownErrorAndSize) {
  const Known known = GetParam();
  const auto x = sample(Kind::gaussian, 1 << 18, 11);
  EXPECT_NEAR(relative_rms(known.id, x), known.error, 0.05 * known.error);
  const auto wire = encode(codec(known.id), x.data(), DataType::float32, x.size());
  EXPECT_LT(static_cast<double>(wire.size()),
            known.bytes_per_element * static_cast<double>(x.size()));
}

INSTANTIATE_TEST_SUITE_P(All, KnownError,
                         testing::Values(Known{CodecId::fp16, 2.07e-4, 2.005},
                                         Known{CodecId::bf16, 1.66e-3, 2.001},
                                         Known{CodecId::int8, 6.92e-3, 1.02},
                                         Known{CodecId::int4, 0.126, 0.515},
                                         Known{CodecId::fp8_e4m3, 2.66e-2, 1.01},
                                         Known{CodecId::fp8_e5m2, 5.26e-2, 1.01}),
                         [](const auto& p) { return test_name(std::string(name_of(p.param.id))); });

TEST(Bf16Codec, Bfloat16Elements_TravelUnchanged) {
  std::vector<std::uint16_t> all(65536), back(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const Codec& c = codec(CodecId::bf16);
  const auto wire = encode(c, all.data(), DataType::bfloat16, all.size());
  ASSERT_TRUE(c.decode(wire.data(), wire.size(), DataType::bfloat16, all.size(), back.data()).ok());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool nan = (all[i] & 0x7fffu) > 0x7f80u;
    ASSERT_EQ(back[i] | (nan ? 0x40u : 0u), all[i] | (nan ? 0x40u : 0u));
  }
}

TEST(Fp16Codec, Float16Elements_TravelUnchanged) {
  std::vector<std::uint16_t> all(65536), back(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const Codec& c = codec(CodecId::fp16);
  const auto wire = encode(c, all.data(), DataType::float16, all.size());
  ASSERT_TRUE(c.decode(wire.data(), wire.size(), DataType::float16, all.size(), back.data()).ok());
  EXPECT_EQ(all, back);
}

TEST(Fp16Codec, Bfloat16Elements_OfOneBlock_SurviveWithin28Binades) {
  std::vector<float> x;
  for (int e = 0; e < 28; ++e) x.push_back(std::ldexp(1.9921875f, -e));
  EXPECT_TRUE(
      same_bits(x, decode(codec(CodecId::fp16),
                          encode(codec(CodecId::fp16), x.data(), DataType::float32, 28), 28)));
}

TEST(Int8Codec, NonFiniteBlock_TravelsRaw) {
  auto x = sample(Kind::gaussian, 700, 13);
  x[300] = NAN;
  const auto y =
      decode(codec(CodecId::int8),
             encode(codec(CodecId::int8), x.data(), DataType::float32, x.size()), x.size());
  EXPECT_TRUE(same_bits(std::span(x).subspan(256, 256), std::span(y).subspan(256, 256)));
  EXPECT_FALSE(same_bits(std::span(x).first(256), std::span(y).first(256)));
}

TEST(LossyCodecs, ValuesNearFloat16sLargest_DoNotBecomeInfinite) {
  for (const CodecId id : kBlockCodecs) {
    for (float top = 60000; top < 65520; top += 7) {
      const std::vector<float> x(300, top);
      const auto wire = encode(codec(id), x.data(), DataType::float32, x.size());
      std::vector<std::uint16_t> half(x.size());
      ASSERT_TRUE(
          codec(id).decode(wire.data(), wire.size(), DataType::float16, 300, half.data()).ok());
      for (const std::uint16_t h : half) ASSERT_LT(h, 0x7c00) << top;
    }
  }
}

TEST(NoneCodec, EveryType_ByteForByte) {
  const Codec& none = codec(CodecId::none);
  const auto x = sample(Kind::every_exponent, 1000, 14);
  for (int t = 0; t < kDataTypeCount; ++t) {
    const auto type = static_cast<DataType>(t);
    const std::size_t count = 4000 / element_bytes(type);
    const auto wire = encode(none, x.data(), type, count);
    ASSERT_EQ(wire.size(), 4000u);
    std::vector<float> y(1000);
    ASSERT_TRUE(none.decode(wire.data(), wire.size(), type, count, y.data()).ok());
    EXPECT_TRUE(same_bits(x, y));
    EXPECT_EQ(none.decode(wire.data(), wire.size() - 1, type, count, y.data()).code(),
              Code::peer_lost);
    EXPECT_TRUE(none.supports(type));
  }
  EXPECT_FALSE(none.decode_add(nullptr, 0, 0, nullptr).ok());
}

}  // namespace
}  // namespace thinwire::compression
