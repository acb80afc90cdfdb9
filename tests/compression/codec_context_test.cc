// EncodeContext: residuals, valid counts, noise.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tests/compression/sample_data.h"

namespace thinwire::compression {
namespace {

constexpr std::size_t kBlock = 256;

struct Feedback {
  std::vector<float> before, after, decoded;
};

Feedback feedback_of(const Codec& codec, const Elements& elements, DataType type,
                     std::size_t valid) {
  const std::size_t count = elements.values().size();
  Feedback f;
  f.before = sample(Kind::gaussian, count, 31);
  f.after = f.before;
  const auto wire = encode(codec, elements, type, {f.after.data(), valid, 5});
  f.decoded = decode(codec, wire, count);
  return f;
}

// Whether the element's residual must stay as it is.
bool is_alone(const Codec& codec, std::span<const float> x, std::size_t i, std::size_t valid) {
  if (codec.id() == CodecId::topk) return !std::isfinite(x[i]);
  const std::size_t begin = i / kBlock * kBlock;
  const std::size_t end = std::min({begin + kBlock, x.size(), valid});
  for (std::size_t j = begin; j < end; ++j) {
    if (!std::isfinite(x[j])) return true;
  }
  return false;
}

void expect_identity(const Codec& codec, std::span<const float> x, const Feedback& f,
                     std::size_t valid) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i >= valid || is_alone(codec, x, i, valid)) {
      ASSERT_EQ(f.before[i], f.after[i]) << i;
      ASSERT_TRUE(i < valid || f.decoded[i] == 0) << i;
      ASSERT_TRUE(i >= valid || std::isfinite(x[i]) == std::isfinite(f.decoded[i])) << i;
      continue;
    }
    const double sum = static_cast<double>(x[i]) + f.before[i];
    if (std::fabs(sum) > 3.3e38) continue;  // saturated
    const double kept = static_cast<double>(f.decoded[i]) + f.after[i];
    const double scale = std::max({std::fabs(sum), std::fabs(1.0 * f.decoded[i]), 0x1p-100});
    ASSERT_NEAR(sum, kept, scale * 0x1p-22) << i << ' ' << x[i];
  }
}

class CodecContext : public testing::TestWithParam<const char*> {
 protected:
  const Codec& codec_ = codec_of(GetParam());
};

TEST_P(CodecContext, Residual_IsWhatDecodingLacks) {
  for (const Kind kind : kKinds) {
    for (const std::size_t count : {1, 255, 256, 1000, 4096, 70000}) {
      const Elements elements(sample(kind, count, 3), DataType::float32, count % 3);
      for (const std::size_t valid : {count, count / 2, count - count / 3, std::size_t{0}}) {
        SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(count));
        const Feedback f = feedback_of(codec_, elements, DataType::float32, valid);
        ASSERT_NO_FATAL_FAILURE(expect_identity(codec_, elements.values(), f, valid));
      }
    }
  }
}

TEST_P(CodecContext, ResidualOf16BitElements_IsWhatDecodingLacks) {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    for (const Kind kind : {Kind::gaussian, Kind::non_finite, Kind::spiky, Kind::constant}) {
      const Elements elements(sample(kind, 5000, 4), type);
      const Feedback f = feedback_of(codec_, elements, type, 4900);
      SCOPED_TRACE(std::string(name_of(type)) + " " + name_of(kind));
      if (type == DataType::float16 && kind == Kind::spiky) continue;  // overflows
      ASSERT_NO_FATAL_FAILURE(expect_identity(codec_, elements.values(), f, 4900));
    }
  }
}

// What is lost in one round is made up for in the next ones: the sum over rounds is right but for
// the last residual, and that stays bounded.
TEST_P(CodecContext, FeedbackOverManyRounds_KeepsTheSum) {
  constexpr std::size_t kCount = 2000;
  constexpr int kRounds = 600;
  const auto x = sample(Kind::gaussian, kCount, 8);
  std::vector<float> residual(kCount);
  std::vector<float> sum(kCount);
  for (int round = 0; round < kRounds; ++round) {
    const auto wire = encode(codec_, x.data(), DataType::float32, kCount,
                             {residual.data(), SIZE_MAX, static_cast<std::uint64_t>(round)});
    ASSERT_TRUE(codec_.decode_add(wire.data(), wire.size(), kCount, sum.data()).ok());
  }
  double error = 0, energy = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    error += std::pow(sum[i] / kRounds - x[i], 2);
    energy += std::pow(x[i], 2);
  }
  EXPECT_LT(std::sqrt(error / energy), codec_.id() == CodecId::topk ? 0.25 : 1e-3);
}

TEST_P(CodecContext, StaleElements_AreAsGoodAsZeros) {
  if (codec_.id() == CodecId::topk) GTEST_SKIP() << "how many it sends depends on the valid count";
  for (const DataType type : kLossyTypes) {
    for (const std::size_t valid : {0, 1, 100, 256, 300, 2047, 2050, 5000}) {
      auto values = sample(Kind::gaussian, 5000, 9);
      for (std::size_t i = valid; i < values.size(); ++i) values[i] = i % 2 == 0 ? NAN : 1e30f;
      const Elements stale(values, type);
      std::fill(values.begin() + static_cast<std::ptrdiff_t>(valid), values.end(), 0.0f);
      const Elements zeros(values, type);
      EXPECT_EQ(encode(codec_, stale, type, {.valid = valid}), encode(codec_, zeros, type))
          << valid;
    }
  }
}

TEST_P(CodecContext, DecodeAddEncode_IsDecodeAddThenEncode) {
  for (const Kind kind : kKinds) {
    for (const std::size_t count : {0, 1, 257, 9000}) {
      const auto x = sample(kind, count, 12), start = sample(Kind::gaussian, count, 13);
      const auto from = encode(codec_, x.data(), DataType::float32, count);
      auto sum = start, expected = start;
      std::vector<float> residual(count, 0.01f), expected_residual = residual;
      std::vector<std::byte> wire(codec_.max_encoded_bytes(count, DataType::float32));
      const auto bytes = codec_.decode_add_encode(from.data(), from.size(), count, sum.data(),
                                                  wire.data(), {residual.data(), SIZE_MAX, 3});
      ASSERT_TRUE(bytes.ok());
      wire.resize(bytes.value());
      ASSERT_TRUE(codec_.decode_add(from.data(), from.size(), count, expected.data()).ok());
      EXPECT_EQ(wire, encode(codec_, expected.data(), DataType::float32, count,
                             {expected_residual.data(), SIZE_MAX, 3}));
      EXPECT_TRUE(same_bits(sum, expected));
      EXPECT_TRUE(same_bits(residual, expected_residual));
    }
  }
}

TEST_P(CodecContext, RandomShapes_DecodeToAsManyAndNoMore) {
  std::mt19937 random(4);
  for (int round = 0; round < 12; ++round) {
    const std::size_t count = random() % 200001, offset = random() % 4;
    const Kind kind = kKinds[random() % std::size(kKinds)];
    const DataType type = kLossyTypes[random() % std::size(kLossyTypes)];
    const Elements elements(sample(kind, count, random() % 1000), type, offset);
    const auto wire = encode(codec_, elements, type, {.noise = random()});
    auto sum = std::vector<float>(count), out = decode(codec_, wire, count);
    ASSERT_TRUE(codec_.decode_add(wire.data(), wire.size(), count, sum.data()).ok());
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isfinite(elements.values()[i])) {
        ASSERT_TRUE(std::isfinite(out[i])) << i << ' ' << elements.values()[i];
        ASSERT_EQ(out[i], sum[i]) << i;
      } else {
        ASSERT_FALSE(std::isfinite(out[i])) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CodecContext, testing::ValuesIn(kLossyTexts),
                         [](const auto& p) { return test_name(p.param); });

class StochasticRounding : public testing::TestWithParam<const char*> {};

// The largest finite magnitude of the block of element i.
double block_largest(std::span<const float> x, std::size_t i) {
  double largest = 0;
  const std::size_t begin = i / kBlock * kBlock;
  for (std::size_t j = begin; j < std::min(begin + kBlock, x.size()); ++j) {
    if (std::isfinite(x[j])) largest = std::max(largest, std::fabs(1.0 * x[j]));
  }
  return largest;
}

TEST_P(StochasticRounding, OverManySeeds_IsRightOnAverage) {
  const Codec& used = codec_of(GetParam());
  const auto x = sample(Kind::gaussian, 512, 15);
  constexpr int kRounds = 2000;
  std::vector<double> sum(x.size());
  for (int round = 0; round < kRounds; ++round) {
    const auto wire = encode(used, x.data(), DataType::float32, x.size(),
                             {.noise = static_cast<std::uint64_t>(round) * 77});
    const auto y = decode(used, wire, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += y[i] - x[i];
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    // A step's rounding has a deviation of at most half a step.
    const double step = stochastic_bound(used.id(), x[i], block_largest(x, i));
    EXPECT_LT(std::fabs(sum[i] / kRounds), 5 * 0.5 * step / std::sqrt(kRounds)) << x[i];
  }
}

// Without a bias the error of the mean over R rounds is that of one round by the root of R.
TEST_P(StochasticRounding, MeanError_FallsWithTheRootOfTheRounds) {
  const Codec& used = codec_of(GetParam());
  const auto x = sample(Kind::gaussian, 4096, 19);
  std::vector<double> sum(x.size());
  double squares = 0;
  for (int round = 1; round <= 4096; ++round) {
    const auto wire = encode(used, x.data(), DataType::float32, x.size(),
                             {.noise = static_cast<std::uint64_t>(round) << 20});
    const auto y = decode(used, wire, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = static_cast<double>(y[i]) - x[i];
      sum[i] += error;
      squares += error * error;
    }
    if (round != 64 && round != 512 && round != 4096) continue;
    double of_mean = 0;
    for (const double s : sum) of_mean += (s / round) * (s / round);
    // In fp8 the elements near a block's largest decide: as good as a few hundred.
    EXPECT_NEAR(of_mean / (squares / round / round), 1, 0.25) << round;
  }
}

TEST_P(StochasticRounding, SameNoise_SameBytes_OtherNoise_OtherBytes) {
  const Codec& used = codec_of(GetParam());
  const auto x = sample(Kind::gaussian, 5000, 16);
  const auto bytes = [&](std::uint64_t noise) {
    return encode(used, x.data(), DataType::float32, x.size(), {.noise = noise});
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
  EXPECT_NE(bytes(1), bytes(1ull << 40 | 1));
}

TEST_P(StochasticRounding, EveryKindOfData_WithinTwiceTheBound) {
  const Codec& used = codec_of(GetParam());
  for (const Kind kind : kKinds) {
    const auto x = sample(kind, 20000, 18);
    const auto wire = encode(used, x.data(), DataType::float32, x.size(), {.noise = 4});
    const auto y = decode(used, wire, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i])) continue;
      const double bound = stochastic_bound(used.id(), x[i], block_largest(x, i));
      ASSERT_LE(std::fabs(1.0 * x[i] - y[i]), bound) << name_of(kind) << ' ' << x[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StochasticRounding,
                         testing::Values("bf16:sr", "int8:sr", "int4:sr", "fp8-e4m3:sr",
                                         "fp8-e5m2:sr"),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace thinwire::compression
