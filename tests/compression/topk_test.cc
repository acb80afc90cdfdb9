// What top-k chooses, and how it writes that.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "compression/topk_select.h"
#include "tests/compression/sample_data.h"

namespace thinwire::compression {
namespace {

std::uint32_t magnitude(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu; }

// The exact choice, by sorting: the `wanted` largest that are not zero, ties by index.
std::vector<bool> oracle(std::span<const float> x, std::size_t wanted) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return magnitude(x[a]) > magnitude(x[b]); });
  std::vector<bool> chosen(x.size());
  for (std::size_t j = 0; j < wanted; ++j) chosen[order[j]] = magnitude(x[order[j]]) != 0;
  return chosen;
}

std::vector<bool> chosen_by(const Codec& codec, std::span<const float> x) {
  const auto y = decode(codec, encode(codec, x.data(), DataType::float32, x.size()), x.size());
  std::vector<bool> chosen(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) chosen[i] = y[i] != 0;
  return chosen;
}

std::size_t count_of(const std::vector<bool>& chosen) {
  return static_cast<std::size_t>(std::count(chosen.begin(), chosen.end(), true));
}

constexpr const char* kTopk[] = {"topk:0.01", "topk:0.001", "topk:0.1", "topk:0.5",
                                 "topk:0.000001"};

class Topk : public testing::TestWithParam<const char*> {
 protected:
  const Codec& codec_ = codec_of(GetParam());
  const float ratio_ = parse_codec(GetParam()).value().ratio;
};

// A cut, whatever its size: nothing left behind is larger than something sent.
void expect_cut(std::span<const float> x, const std::vector<bool>& chosen) {
  std::uint32_t least_sent = ~0u, largest_left = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (chosen[i]) least_sent = std::min(least_sent, magnitude(x[i]));
    if (!chosen[i]) largest_left = std::max(largest_left, magnitude(x[i]));
  }
  EXPECT_GE(least_sent, largest_left);
}

TEST_P(Topk, EveryKindOfData_SendsTheLargestAboutAsManyAsWanted) {
  for (const Kind kind : kKinds) {
    for (const std::size_t count : {1, 2, 100, 5000, 65536, 65537, 200000}) {
      SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(count));
      const auto x = sample(kind, count, 41);
      const auto chosen = chosen_by(codec_, x);
      const std::size_t wanted = topk_wanted(count, ratio_);
      const auto is_set = [](float v) { return v != 0; };
      const auto set = static_cast<std::size_t>(std::count_if(x.begin(), x.end(), is_set));
      const auto is_odd = [](float v) { return !std::isfinite(v); };
      const auto odd = static_cast<std::size_t>(std::count_if(x.begin(), x.end(), is_odd));
      EXPECT_LE(count_of(chosen), std::max(topk_most(wanted), odd));
      EXPECT_GE(count_of(chosen), std::min(set, topk_least(wanted)));
      expect_cut(x, chosen);
    }
  }
}

// Whatever the memory holds, from the last time or from anywhere.
TEST_P(Topk, RememberedLimit_ChangesHowTheCutIsFoundAndNotThatItIsOne) {
  for (const Kind kind : kKinds) {
    const auto x = sample(kind, 70000, 48);
    const std::size_t wanted = topk_wanted(x.size(), ratio_);
    const auto odd = static_cast<std::size_t>(
        std::count_if(x.begin(), x.end(), [](float v) { return !std::isfinite(v); }));
    for (const std::uint32_t start : {0u, 1u, magnitude(1.0f), magnitude(1e30f), 0x7f7fffffu}) {
      SCOPED_TRACE(std::string(name_of(kind)) + " " + std::to_string(start));
      std::uint32_t limit = start;
      for (int round = 0; round < 4; ++round) {
        std::vector<std::byte> wire(codec_.max_encoded_bytes(x.size(), DataType::float32));
        wire.resize(
            codec_.encode(x.data(), DataType::float32, x.size(), wire.data(), {.limit = &limit}));
        const auto y = decode(codec_, wire, x.size());
        std::vector<bool> chosen(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) chosen[i] = y[i] != 0;
        EXPECT_LE(count_of(chosen), std::max(topk_most(wanted), odd));
        expect_cut(x, chosen);
        EXPECT_LE(limit, 0x7f7fffffu);
      }
    }
  }
}

TEST(TopkMemory, RememberedLimit_ComesToSendWhatIsWanted) {
  const auto x = sample(Kind::gaussian, 100000, 49);
  const Codec& used = codec_of("topk:0.01");
  std::uint32_t limit = magnitude(2.45f);  // 1.4 % of a Gaussian are above
  std::vector<std::size_t> sent;
  for (int round = 0; round < 12; ++round) {
    std::vector<std::byte> wire(used.max_encoded_bytes(x.size(), DataType::float32));
    wire.resize(used.encode(x.data(), DataType::float32, x.size(), wire.data(), {.limit = &limit}));
    const auto y = decode(used, wire, x.size());
    sent.push_back(static_cast<std::size_t>(
        std::count_if(y.begin(), y.end(), [](float v) { return v != 0; })));
  }
  EXPECT_NEAR(static_cast<double>(sent.back()), 1000, 30);
}

// A residual that grows from nothing leaves a limit behind that nearly all are above.
TEST(TopkMemory, LimitFarTooLow_IsMadeUpForAtOnce) {
  const auto x = sample(Kind::gaussian, 1 << 17, 50);
  const Codec& used = codec_of("topk:0.01");
  for (const float low : {1e-30f, 0.1f, 1.0f}) {
    std::uint32_t limit = magnitude(low);
    std::vector<float> residual(x.size());
    std::vector<std::byte> wire(used.max_encoded_bytes(x.size(), DataType::float32));
    wire.resize(used.encode(x.data(), DataType::float32, x.size(), wire.data(),
                            {.residual = residual.data(), .limit = &limit}));
    const auto y = decode(used, wire, x.size());
    const auto sent = std::count_if(y.begin(), y.end(), [](float v) { return v != 0; });
    EXPECT_NEAR(static_cast<double>(sent), 1311, 30);
    EXPECT_NEAR(std::bit_cast<float>(limit), 2.43f, 0.05f);  // 1.5 % are above
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i] + residual[i], x[i]) << i;
  }
}

TEST_P(Topk, SentElements_AreExactAndTheOthersZero) {
  const auto x = sample(Kind::heavy_tailed, 100000, 42);
  const auto y = decode(codec_, encode(codec_, x.data(), DataType::float32, x.size()), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_TRUE(y[i] == x[i] || std::bit_cast<std::uint32_t>(y[i]) == 0) << i;
  }
}

TEST_P(Topk, EqualElements_FirstOnesAreSent) {
  const std::vector<float> x(70000, -2.5f);
  EXPECT_EQ(chosen_by(codec_, x), oracle(x, topk_wanted(x.size(), ratio_)));
}

TEST_P(Topk, FewLevels_OfEqualOnesTheFirstAreSent) {
  std::vector<float> x(70000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 5) - 2.0f;
  const auto chosen = chosen_by(codec_, x);
  expect_cut(x, chosen);
  for (const float level : {1.0f, 2.0f}) {
    bool left = false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::fabs(x[i]) != level) continue;
      EXPECT_FALSE(left && chosen[i]) << i;
      left = left || !chosen[i];
    }
  }
}

TEST_P(Topk, MoreNonFiniteThanWanted_AllTravel) {
  for (const std::size_t every : {1, 2, 50}) {
    std::vector<float> x = sample(Kind::gaussian, 70000, 43);
    for (std::size_t i = 0; i < x.size(); i += every) {
      x[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
    }
    std::vector<float> residual(x.size());
    const auto wire = encode(codec_, x.data(), DataType::float32, x.size(), {residual.data()});
    const auto y = decode(codec_, wire, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(std::isnan(x[i]), std::isnan(y[i])) << i;
      ASSERT_TRUE(!std::isinf(x[i]) || x[i] == y[i]) << i;
      ASSERT_TRUE(std::isfinite(x[i]) ? x[i] == y[i] + residual[i] : residual[i] == 0) << i;
    }
  }
}

TEST_P(Topk, Periodic_DoesNotMisleadTheSample) {
  std::vector<float> x(1 << 18);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<float>(i + 1);
    x[i] = i % 64 == 0 ? 100.0f + value * 1e-3f : value * 1e-6f;
  }
  const auto chosen = chosen_by(codec_, x);
  EXPECT_LE(count_of(chosen), topk_most(topk_wanted(x.size(), ratio_)));
  EXPECT_GE(count_of(chosen), topk_least(topk_wanted(x.size(), ratio_)));
  expect_cut(x, chosen);
}

INSTANTIATE_TEST_SUITE_P(All, Topk, testing::ValuesIn(kTopk),
                         [](const auto& p) { return test_name(p.param); });

TEST(TopkSelect, ExactCut_IsTheOracles) {
  for (const Kind kind : kKinds) {
    for (const std::size_t wanted : {1, 10, 999, 5000}) {
      const auto x = sample(kind, 5000, 44);
      const TopkSource source(x.data(), DataType::float32, x.size(), nullptr);
      std::size_t non_finite = 0;
      const TopkCut cut = exact_cut(source, wanted, non_finite);
      const auto expected = oracle(x, wanted);
      std::size_t ties = cut.ties;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool above = magnitude(x[i]) > cut.limit;
        const bool tied = magnitude(x[i]) == cut.limit && ties != 0;
        ties -= tied ? 1 : 0;
        const bool beyond = !std::isfinite(x[i]) && non_finite >= wanted;
        ASSERT_TRUE(beyond || (above || tied) == expected[i]) << name_of(kind) << ' ' << i;
      }
    }
  }
}

TEST(TopkFrame, Size_IsThatOfIndicesAndValues) {
  const auto x = sample(Kind::gaussian, 1 << 18, 45);
  const auto bytes = [&](const char* text) {
    const Codec& used = codec_of(text);
    const auto wire = encode(used, x.data(), DataType::float32, x.size());
    return static_cast<double>(wire.size() - 8 - 4 * 4) /
           static_cast<double>(count_of(chosen_by(used, x)));
  };
  EXPECT_EQ(bytes("topk:0.01"), 6);
  EXPECT_EQ(bytes("topk:0.01:fp16"), 4);
  EXPECT_LT(bytes("topk:0.25"), 4.7);  // a bitmap: half a byte each
}

TEST(TopkFrame, Fp16Values_KeepTheirBoundWhateverTheirMagnitude) {
  const Codec& used = codec_of("topk:0.03:fp16");
  for (const float scale : {1e-30f, 1.0f, 1e30f}) {
    auto x = sample(Kind::gaussian, 20000, 46);
    for (float& v : x) v *= scale;
    const auto y = decode(used, encode(used, x.data(), DataType::float32, x.size()), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(std::fabs(x[i] - y[i]), y[i] == 0 ? 4 * scale : std::fabs(x[i]) * 0x1p-11f);
    }
  }
}

// decode_add() must not touch what was not sent: here that would turn -0 into +0.
TEST(TopkFrame, DecodeAdd_LeavesOtherElementsAlone) {
  const auto x = sample(Kind::gaussian, 5000, 47);
  const Codec& used = codec_of("topk:0.01");
  const auto wire = encode(used, x.data(), DataType::float32, x.size());
  const auto y = decode(used, wire, x.size());
  std::vector<float> sum(x.size(), -0.0f);
  ASSERT_TRUE(used.decode_add(wire.data(), wire.size(), sum.size(), sum.data()).ok());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::signbit(sum[i]), y[i] == 0 || std::signbit(y[i])) << i;
  }
}

}  // namespace
}  // namespace thinwire::compression
