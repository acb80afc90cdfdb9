// Pieces and tiles cover every element exactly once, on block boundaries.
#include "collectives/geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "collectives/staging.h"

namespace thinwire::collectives {
namespace {

TEST(GeometrySplit, AnyCount_IsCoveredEvenlyOnBlockBoundaries) {
  for (const std::size_t pieces : {1, 2, 3, 7, 64}) {
    for (const std::size_t count : {0, 1, 255, 256, 257, 1000, 65536, 1000003}) {
      std::vector<std::size_t> offsets(pieces + 1);
      split_evenly(count, offsets);
      EXPECT_EQ(offsets.front(), 0u);
      EXPECT_EQ(offsets.back(), count);
      std::size_t longest = 0;
      for (std::size_t p = 0; p < pieces; ++p) {
        ASSERT_LE(offsets[p], offsets[p + 1]);
        EXPECT_TRUE(offsets[p] % kBlockElements == 0 || offsets[p] == count);
        longest = std::max(longest, offsets[p + 1] - offsets[p]);
      }
      EXPECT_LT(longest, count / pieces + 2 * kBlockElements);
    }
  }
}

TEST(GeometryTiles, EveryElement_IsInOneTile) {
  const std::vector<std::size_t> counts = {0, 5000, 1, 256, 0, 777};
  std::vector<std::size_t> offsets(counts.size() + 1);
  split_as(counts, offsets);
  constexpr std::size_t kTile = 512;
  EXPECT_EQ(tile_count(offsets, kTile), 10u);
  std::vector<int> covered(offsets.back());
  for (std::size_t tile = 0; tile < 10; ++tile) {
    for (std::size_t piece = 0; piece < counts.size(); ++piece) {
      const Range range = tile_range(offsets, piece, tile, kTile);
      ASSERT_LE(range.count, kTile);
      for (std::size_t i = 0; i < range.count; ++i) ++covered[range.first + i];
    }
  }
  EXPECT_EQ(std::count(covered.begin(), covered.end(), 1),
            static_cast<std::ptrdiff_t>(covered.size()));
}

TEST(GeometryTiles, Elements_AreWholeBlocksForEveryType) {
  for (int t = 0; t < kDataTypeCount; ++t) {
    const auto type = static_cast<DataType>(t);
    for (const std::size_t bytes : {1, 4096, 100000, 1 << 17}) {
      const std::size_t elements = tile_elements(bytes, type);
      EXPECT_GT(elements, 0u);
      EXPECT_EQ(elements % kBlockElements, 0u);
      EXPECT_LE(elements * element_bytes(type), std::max<std::size_t>(bytes, 256 * 8));
    }
  }
  EXPECT_EQ(tile_elements(128 * 1024, DataType::float32), 32768u);
}

TEST(GeometryStaging, Pieces_ShrinkOnlyInVeryLargeGroups) {
  const Choice choice{ScheduleKind::ring};
  EXPECT_EQ(bounded_piece_bytes(choice, flat_layout(64)), choice.piece_bytes);
  const std::size_t large = bounded_piece_bytes(choice, flat_layout(4096));
  EXPECT_LT(large, choice.piece_bytes);
  EXPECT_LE(large * 2 * 4096 * 2, kMaxStagingBytes);
}

}  // namespace
}  // namespace thinwire::collectives
