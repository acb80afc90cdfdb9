// Every SIMD target against the scalar reference, bit for bit.

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>

#include "compression/reduce.h"
#include "tests/compression/sample_data.h"

namespace thinwire::compression {
namespace {

struct Outcome {
  std::vector<std::byte> wire;
  std::vector<std::byte> wire_with_feedback;
  std::vector<float> residual;
  std::vector<float> decoded;
  std::vector<std::byte> narrow;
  std::vector<float> sum;
  bool operator==(const Outcome& other) const {
    return wire == other.wire && wire_with_feedback == other.wire_with_feedback &&
           same_bits(residual, other.residual) && same_bits(decoded, other.decoded) &&
           narrow == other.narrow && same_bits(sum, other.sum);
  }
};

struct Case {
  Kind kind;
  DataType type;
  std::size_t count;
  std::size_t misalignment;
};

Outcome outcome_of(const Codec& codec, const Case& c, const Elements& elements,
                   std::span<const float> accumulator, SimdTarget target) {
  Outcome outcome;
  outcome.sum.assign(accumulator.begin(), accumulator.end());
  outcome.narrow.resize(c.count * element_bytes(c.type));
  const ForcedTarget forced(target);
  outcome.residual = sample(Kind::gaussian, c.count, 17);
  EncodeContext context{outcome.residual.data(), c.count - c.count / 5, 0x123456789abcdefu};
  for (int round = 0; round < 2; ++round) {
    outcome.wire_with_feedback = encode(codec, elements, c.type, context);
  }
  outcome.wire = encode(codec, elements, c.type, {.noise = 99});
  // The wire has no alignment at all.
  std::vector<std::byte> shifted(c.misalignment + outcome.wire.size() + 1);
  std::byte* const wire = shifted.data() + c.misalignment;
  if (!outcome.wire.empty()) std::memcpy(wire, outcome.wire.data(), outcome.wire.size());
  const std::size_t bytes = outcome.wire.size();
  outcome.decoded = decode(codec, {wire, bytes}, c.count);
  EXPECT_TRUE(codec.decode(wire, bytes, c.type, c.count, outcome.narrow.data()).ok());
  EXPECT_TRUE(codec.decode_add(wire, bytes, c.count, outcome.sum.data()).ok());
  return outcome;
}

std::vector<SimdTarget> vector_targets() {
  const auto all = supported_targets();
  return {all.begin() + 1, all.end()};
}

void expect_same_as_scalar(const Codec& codec, const Case& c) {
  const auto seed = static_cast<std::uint32_t>(c.count);
  const Elements elements(sample(c.kind, c.count, seed), c.type, c.misalignment);
  const auto accumulator = sample(Kind::non_finite, c.count, seed + 1);
  const Outcome reference = outcome_of(codec, c, elements, accumulator, SimdTarget::scalar);
  for (const SimdTarget target : vector_targets()) {
    ASSERT_TRUE(outcome_of(codec, c, elements, accumulator, target) == reference)
        << codec.name() << ' ' << name_of(target) << ' ' << name_of(c.type) << ' '
        << name_of(c.kind) << " count " << c.count << " misaligned by " << c.misalignment;
  }
}

class CodecTargets : public testing::TestWithParam<const char*> {};

TEST_P(CodecTargets, EveryLength_SameBitsAsScalar) {
  std::size_t turn = 0;
  for (std::size_t count = 0; count <= 1100; ++count, ++turn) {
    for (const DataType type : kLossyTypes) {
      const Kind kind = kKinds[turn++ % std::size(kKinds)];
      expect_same_as_scalar(codec_of(GetParam()), {kind, type, count, turn % 5});
    }
  }
}

TEST_P(CodecTargets, EveryKindOfData_SameBitsAsScalar) {
  for (const Kind kind : kKinds) {
    for (const DataType type : kLossyTypes) {
      for (const std::size_t count : {1, 255, 256, 257, 4096, 20000}) {
        expect_same_as_scalar(codec_of(GetParam()), {kind, type, count, 1});
      }
    }
  }
  expect_same_as_scalar(codec_of(GetParam()), {Kind::gaussian, DataType::float32, 200000, 3});
}

INSTANTIATE_TEST_SUITE_P(All, CodecTargets, testing::ValuesIn(kLossyTexts),
                         [](const auto& p) { return test_name(p.param); });

std::uint64_t hash(std::uint64_t seed, const void* data, std::size_t bytes) {  // FNV-1a
  for (std::size_t i = 0; i < bytes; ++i) {
    seed = (seed ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  }
  return seed;
}

// Values made by integer and exact operations alone: the same on every machine.
std::vector<float> exact_values(bool any_bits) {
  std::mt19937 random(1);
  std::vector<float> values(5000);
  for (float& v : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    v = any_bits ? std::bit_cast<float>(bits)
                 : static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
  }
  return values;
}

std::uint64_t hash_of_everything(bool any_bits) {
  const auto values = exact_values(any_bits);
  std::uint64_t result = 0xcbf29ce484222325u;
  for (const DataType type : kLossyTypes) {
    const Elements elements(values, type);
    for (const char* const text : kLossyTexts) {
      const Codec& used = codec_of(text);
      const auto wire = encode(used, elements, type, {.noise = 7});
      result = hash(result, wire.data(), wire.size());
      auto sum = values;
      EXPECT_TRUE(used.decode_add(wire.data(), wire.size(), sum.size(), sum.data()).ok());
      result = hash(result, sum.data(), sum.size() * sizeof(float));
    }
    for (int op = 0; op < kReduceOpCount; ++op) {
      auto reversed = std::vector<float>(values.rbegin(), values.rend());
      reduce(type, static_cast<ReduceOp>(op), elements.data(), reversed.data(), reversed.size());
      result = hash(result, reversed.data(), reversed.size() * sizeof(float));
    }
  }
  return result;
}

// Processors of different architectures must agree too: these were computed on x86-64.
TEST(SimdTargets, GoldenHashes_SameOnEveryMachine) {
  for (const SimdTarget target : supported_targets()) {
    const ForcedTarget forced(target);
    EXPECT_EQ(hash_of_everything(false), 10013668895374814057u) << name_of(target);
    EXPECT_EQ(hash_of_everything(true), 11268976090533581421u) << name_of(target);
  }
}

TEST(SimdTargets, ForcedOne_IsTheCurrentOne) {
  for (const SimdTarget target : supported_targets()) {
    const ForcedTarget forced(target);
    EXPECT_EQ(current_target(), target);
  }
  EXPECT_EQ(current_target(), supported_targets().back());
  EXPECT_EQ(supported_targets().front(), SimdTarget::scalar);
}

}  // namespace
}  // namespace thinwire::compression
