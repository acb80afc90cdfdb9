#include "compression/exact_frame.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "compression/reduce.h"

namespace thinwire::compression {
namespace {

std::vector<float> values(std::size_t count) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<float>(i % 250) - 125.0f;
  return all;
}

// At an odd address, as on the wire.
struct Wire {
  std::vector<std::byte> memory;
  std::size_t bytes = 0;
  std::byte* at() { return memory.data() + 1; }
};

Wire encoded(const void* elements, DataType type, std::size_t count,
             const EncodeContext& context = {}) {
  Wire wire;
  wire.memory.resize(1 + exact_frames().max_encoded_bytes(count, type));
  wire.bytes = exact_frames().encode(elements, type, count, wire.at(), context);
  return wire;
}

TEST(ExactFrame, Float32_ComesBackBitForBit) {
  for (const std::size_t count : {1u, 255u, 1024u, 5000u}) {
    std::vector<float> from = values(count);
    from[0] = std::numeric_limits<float>::quiet_NaN();
    Wire wire = encoded(from.data(), DataType::float32, count);
    std::vector<float> to(count);
    ASSERT_TRUE(
        exact_frames().decode(wire.at(), wire.bytes, DataType::float32, count, to.data()).ok());
    EXPECT_EQ(std::memcmp(from.data(), to.data(), count * sizeof(float)), 0);
  }
}

TEST(ExactFrame, SumsInFloat32_AreReadAsHalves) {
  const std::vector<float> sums = values(3000);
  Wire wire = encoded(sums.data(), DataType::float32, sums.size());
  std::vector<std::uint16_t> halves(sums.size()), expected(sums.size());
  store(DataType::bfloat16, sums.data(), expected.data(), sums.size());
  ASSERT_TRUE(exact_frames()
                  .decode(wire.at(), wire.bytes, DataType::bfloat16, sums.size(), halves.data())
                  .ok());
  EXPECT_EQ(halves, expected);
}

TEST(ExactFrame, Halves_AreAddedInFloat32) {
  const std::vector<float> from = values(2000);
  std::vector<std::uint16_t> halves(from.size());
  store(DataType::float16, from.data(), halves.data(), from.size());
  Wire wire = encoded(halves.data(), DataType::float16, halves.size());
  std::vector<float> sum = from;
  ASSERT_TRUE(exact_frames().decode_add(wire.at(), wire.bytes, sum.size(), sum.data()).ok());
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], 2 * from[i]);
}

TEST(ExactFrame, StaleElements_TravelAsZeros) {
  const std::vector<float> from(100, 1e30f);
  Wire wire = encoded(from.data(), DataType::float32, 100, {.valid = 10});
  std::vector<float> to(100);
  ASSERT_TRUE(exact_frames().decode(wire.at(), wire.bytes, DataType::float32, 100, to.data()).ok());
  EXPECT_EQ(to[9], 1e30f);
  EXPECT_EQ(to[10], 0.0f);
}

TEST(ExactFrame, WrongLengthCountOrType_IsRefused) {
  const std::vector<float> from = values(50);
  Wire wire = encoded(from.data(), DataType::float32, 50);
  std::vector<float> to(64);
  const auto refused = [&](std::size_t bytes, std::size_t count) {
    return exact_frames().decode(wire.at(), bytes, DataType::float32, count, to.data()).code() ==
               Code::peer_lost &&
           exact_frames().decode_add(wire.at(), bytes, count, to.data()).code() == Code::peer_lost;
  };
  for (std::size_t bytes = 0; bytes < wire.bytes; ++bytes) EXPECT_TRUE(refused(bytes, 50)) << bytes;
  EXPECT_TRUE(refused(wire.bytes, 49));
  wire.at()[1] = std::byte{static_cast<unsigned char>(DataType::int32)};
  EXPECT_TRUE(refused(wire.bytes, 50));
}

TEST(ExactFrame, EveryCodecsFrame_NamesItsCodec) {
  const std::vector<float> from = values(300);
  for (const char* text : {"fp16", "bf16", "int8", "int4", "fp8-e4m3", "fp8-e5m2", "topk:0.1"}) {
    const auto codec = make_codec(parse_codec(text).value());
    std::vector<std::byte> wire(codec->max_encoded_bytes(300, DataType::float32));
    const std::size_t bytes = codec->encode(from.data(), DataType::float32, 300, wire.data());
    const auto named = codec_of_frame(wire.data(), bytes);
    ASSERT_TRUE(named.ok()) << text;
    EXPECT_EQ(named.value(), codec->id()) << text;
  }
  Wire exact = encoded(from.data(), DataType::float32, 300);
  EXPECT_EQ(codec_of_frame(exact.at(), exact.bytes).value(), CodecId::none);
  EXPECT_FALSE(codec_of_frame(exact.at(), 7).ok());
}

}  // namespace
}  // namespace thinwire::compression
