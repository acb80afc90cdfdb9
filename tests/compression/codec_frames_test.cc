// Malformed frames: every truncation, extension and bit flip is refused or decoded within bounds.
// Frames lie at the very end of their allocation so that a sanitizer sees any read past it.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "tests/compression/sample_data.h"

namespace thinwire::compression {
namespace {

Code decode_code(const Codec& codec, std::span<const std::byte> wire, std::size_t count) {
  const auto exact = std::make_unique<std::byte[]>(wire.size());
  if (!wire.empty()) std::memcpy(exact.get(), wire.data(), wire.size());
  const auto out = std::make_unique<float[]>(count);
  const Status plain = codec.decode(exact.get(), wire.size(), DataType::float32, count, out.get());
  const auto sum = std::make_unique<float[]>(count);
  const Status added = codec.decode_add(exact.get(), wire.size(), count, sum.get());
  EXPECT_EQ(plain.code(), added.code());
  return plain.code();
}

// Segmented, raw and plain blocks, and a partial last one.
std::vector<float> mixed_values() {
  auto values = sample(Kind::gaussian, 1300, 21);
  values[300] = 1e9f;
  values[600] = INFINITY;
  values[1299] = 1e12f;
  return values;
}

class CodecFrames : public testing::TestWithParam<const char*> {
 protected:
  const Codec& codec_ = codec_of(GetParam());
  const std::vector<float> values_ = mixed_values();
  std::vector<std::byte> wire_ = encode(codec_, values_.data(), DataType::float32, values_.size());
};

TEST_P(CodecFrames, EveryTruncation_IsPeerLost) {
  ASSERT_EQ(decode_code(codec_, wire_, values_.size()), Code::ok);
  for (std::size_t bytes = 0; bytes < wire_.size(); ++bytes) {
    ASSERT_EQ(decode_code(codec_, std::span(wire_).first(bytes), values_.size()), Code::peer_lost)
        << bytes;
  }
}

TEST_P(CodecFrames, TooLong_IsPeerLost) {
  wire_.push_back(std::byte{0});
  EXPECT_EQ(decode_code(codec_, wire_, values_.size()), Code::peer_lost);
}

TEST_P(CodecFrames, AnotherCount_IsPeerLost) {
  for (const std::size_t count : {0, 1, 1299, 1301, 100000}) {
    EXPECT_EQ(decode_code(codec_, wire_, count), Code::peer_lost) << count;
  }
}

TEST_P(CodecFrames, HeaderBitFlip_IsPeerLost) {
  for (std::size_t bit = 0; bit < 64; ++bit) {
    auto damaged = wire_;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    // float32 and float16 as the encoder's type look the same where there are no raw blocks.
    if (bit == 8 && (codec_.id() == CodecId::bf16 || codec_.id() == CodecId::topk)) continue;
    EXPECT_EQ(decode_code(codec_, damaged, values_.size()), Code::peer_lost) << bit;
  }
}

TEST_P(CodecFrames, AnyBitFlip_StaysWithinBounds) {
  std::size_t refused = 0;
  for (std::size_t byte = 0; byte < wire_.size(); ++byte) {
    auto damaged = wire_;
    damaged[byte] ^= std::byte{1} << (byte % 8);
    const Code code = decode_code(codec_, damaged, values_.size());
    ASSERT_TRUE(code == Code::ok || code == Code::peer_lost);
    refused += code != Code::ok;
  }
  EXPECT_GE(refused, 8u);
}

TEST_P(CodecFrames, Garbage_StaysWithinBounds) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    auto damaged = wire_;
    damaged.resize(8 + random() % wire_.size());
    const std::size_t from = 8 + random() % 40;
    for (std::size_t i = from; i < damaged.size(); ++i) damaged[i] = std::byte(random());
    const Code code = decode_code(codec_, damaged, values_.size());
    ASSERT_TRUE(code == Code::ok || code == Code::peer_lost);
  }
}

TEST_P(CodecFrames, NoElements_NeedNoBytes) {
  EXPECT_EQ(codec_.max_encoded_bytes(0, DataType::float32), 0u);
  EXPECT_EQ(codec_.encode(nullptr, DataType::float32, 0, nullptr), 0u);
  EXPECT_EQ(decode_code(codec_, {}, 0), Code::ok);
}

TEST_P(CodecFrames, TheOtherCodecsFrame_IsPeerLost) {
  const Codec& other = codec(codec_.id() == CodecId::int8 ? CodecId::fp16 : CodecId::int8);
  EXPECT_EQ(decode_code(other, wire_, values_.size()), Code::peer_lost);
}

INSTANTIATE_TEST_SUITE_P(All, CodecFrames, testing::ValuesIn(kLossyTexts),
                         [](const auto& p) { return test_name(p.param); });

TEST(Fp16Frames, PassedThrough_TruncatedOrLonger_IsPeerLost) {
  const Codec& fp16 = codec(CodecId::fp16);
  const std::vector<std::uint16_t> halves(100, 0x3c00);
  auto wire = encode(fp16, halves.data(), DataType::float16, halves.size());
  EXPECT_EQ(decode_code(fp16, wire, 100), Code::ok);
  EXPECT_EQ(decode_code(fp16, std::span(wire).first(wire.size() - 1), 100), Code::peer_lost);
  wire.push_back(std::byte{1});
  EXPECT_EQ(decode_code(fp16, wire, 100), Code::peer_lost);
}

}  // namespace
}  // namespace thinwire::compression
