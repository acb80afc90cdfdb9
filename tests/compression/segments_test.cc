#include "compression/segments.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/compression/sample_data.h"

namespace thinwire::compression {
namespace {

constexpr SegmentRule kRule{5, 2, 0x04000000u};

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(std::fabs(x)); }

Segments split_of(const std::vector<float>& x) {
  float largest = 0;
  for (const float v : x) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  }
  Segments segments;
  split(x.data(), x.size(), bits(largest), kRule, segments);
  return segments;
}

TEST(Segments, AllowedJump_FallsFrom32To4WithinEightElements) {
  const std::uint32_t expected[] = {5, 4, 4, 3, 3, 3, 3, 2, 2};
  for (std::size_t b = 1; b <= 9; ++b) EXPECT_EQ(jump_bits(kRule, b), expected[b - 1] << 23) << b;
  EXPECT_EQ(jump_bits(kRule, 256), 2u << 23);
}

TEST(Segments, EvenData_IsOneSegment) {
  const Segments s = split_of({1, -2, 8, 0.01f, 0});
  ASSERT_EQ(s.count, 1u);
  EXPECT_EQ(s.end[0], 5);
  EXPECT_EQ(s.absmax_bits[0], bits(8));
}

TEST(Segments, Jump_StartsASegmentAtTheElementThatJumps) {
  // 40 is beyond 32 * 1; 100 beyond neither 16 * 40 nor 8 * 40; 1e4 is.
  const Segments s = split_of({1, 40, 3, 100, 1e4f, 1});
  ASSERT_EQ(s.count, 3u);
  EXPECT_EQ(s.end[0], 1);
  EXPECT_EQ(s.absmax_bits[0], bits(1));
  EXPECT_EQ(s.end[1], 4);
  EXPECT_EQ(s.absmax_bits[1], bits(100));
  EXPECT_EQ(s.end[2], 6);
  EXPECT_EQ(s.absmax_bits[2], bits(1e4f));
}

TEST(Segments, JumpFarFromTheBeginning_StartsASegmentThere) {
  std::vector<float> x(256, 1.0f);
  x[200] = 4.5f;
  x[250] = -INFINITY;
  const Segments s = split_of(x);
  ASSERT_EQ(s.count, 2u);
  EXPECT_EQ(s.end[0], 200);
  EXPECT_EQ(s.absmax_bits[0], bits(1));
  EXPECT_EQ(s.absmax_bits[1], bits(4.5f));
}

TEST(Segments, OnlyDustBeforeTheEnd_IsOneSegment) {
  std::vector<float> x(256, 1e-41f);
  x[255] = 1;
  EXPECT_EQ(split_of(x).count, 1u);
}

TEST(Segments, LeadingZeros_SetNoLimit) { EXPECT_EQ(split_of({0, -0.0f, 1e-40f, 5, 6}).count, 1u); }

TEST(Segments, NonFinite_IsPassedOver) {
  const Segments s = split_of({NAN, 1, INFINITY, 2});
  ASSERT_EQ(s.count, 1u);
  EXPECT_EQ(s.absmax_bits[0], bits(2));
}

TEST(Segments, WidestClimb_FitsTheTable) {
  std::vector<float> x;
  for (float v = 0x1p-119f; std::isfinite(v); v *= 4.5f) x.push_back(v);
  const Segments s = split_of(x);
  EXPECT_GE(s.count, x.size() - 4);  // the first ones may jump further
  EXPECT_LE(s.count, kMaxSegments);
}

}  // namespace
}  // namespace thinwire::compression
