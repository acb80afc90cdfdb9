#include "compression/segments.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/compression/sample_data.h"

namespace thinwire::compression {
namespace {

constexpr SegmentRule kEightfold{3, 0x04000000u};

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(std::fabs(x)); }

Segments split_of(const std::vector<float>& x) {
  float largest = 0;
  for (const float v : x) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  }
  Segments segments;
  split(x.data(), x.size(), bits(largest), kEightfold, segments);
  return segments;
}

TEST(Segments, EvenData_IsOneSegment) {
  const Segments s = split_of({1, -2, 8, 0.01f, 0});
  ASSERT_EQ(s.count, 1u);
  EXPECT_EQ(s.end[0], 5);
  EXPECT_EQ(s.absmax_bits[0], bits(8));
}

TEST(Segments, Jump_StartsASegmentAtTheElementThatJumps) {
  const Segments s = split_of({1, -2, 8.5f, 3, 1000, 1});
  ASSERT_EQ(s.count, 3u);
  EXPECT_EQ(s.end[0], 2);
  EXPECT_EQ(s.absmax_bits[0], bits(2));
  EXPECT_EQ(s.end[1], 4);
  EXPECT_EQ(s.absmax_bits[1], bits(8.5f));
  EXPECT_EQ(s.end[2], 6);
  EXPECT_EQ(s.absmax_bits[2], bits(1000));
}

TEST(Segments, LeadingZeros_SetNoLimit) {
  EXPECT_EQ(split_of({0, -0.0f, 1e-40f, 5, 6}).count, 1u);
}

TEST(Segments, NonFinite_IsPassedOver) {
  const Segments s = split_of({NAN, 1, INFINITY, 2});
  ASSERT_EQ(s.count, 1u);
  EXPECT_EQ(s.absmax_bits[0], bits(2));
}

TEST(Segments, WidestClimb_FitsTheTable) {
  std::vector<float> x;
  for (float v = 0x1p-119f; std::isfinite(v); v *= 8.5f) x.push_back(v);
  const Segments s = split_of(x);
  EXPECT_EQ(s.count, x.size());
  EXPECT_LE(s.count, kMaxSegments);
}

}  // namespace
}  // namespace thinwire::compression
