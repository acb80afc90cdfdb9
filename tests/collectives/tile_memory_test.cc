// TileMemory never gives out what is in use, and what it admits depends on sizes alone.
#include "collectives/tile_memory.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "collectives/geometry.h"
#include "collectives/staging.h"

namespace thinwire::collectives {
namespace {

struct Block {
  std::size_t offset;
  std::size_t bytes;
};

TEST(TileMemory, RandomSizes_NeverOverlapAndFitWheneverTheBudgetAllows) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const std::size_t largest = 1 + random() % 100;
    const std::size_t budget = largest + random() % 400;
    const std::size_t tiles = 1 + random() % 20;
    TileMemory memory(tiles, largest, budget);
    std::deque<Block> live;
    std::size_t used = 0;
    for (int i = 0; i < 500; ++i) {
      if (random() % 2 == 0 && !live.empty()) {
        memory.give_back_oldest();
        used -= live.front().bytes;
        live.pop_front();
        continue;
      }
      const std::size_t bytes = 1 + random() % largest;
      const auto offset = memory.try_take(bytes);
      ASSERT_EQ(offset.has_value(), live.size() < tiles && used + bytes <= budget);
      if (!offset) continue;
      ASSERT_LE(*offset + bytes, memory.capacity());
      for (const Block& other : live) {
        ASSERT_TRUE(*offset + bytes <= other.offset || other.offset + other.bytes <= *offset);
      }
      live.push_back({*offset, bytes});
      used += bytes;
    }
  }
}

TEST(TileMemory, Idle_UsesTheSameMemoryAgain) {
  TileMemory memory(4, 100, 400);
  const auto first = memory.try_take(60);
  memory.give_back_oldest();
  EXPECT_EQ(memory.try_take(80), first);
}

// What a full tile takes must not keep small calls from running side by side.
TEST(TileMemory, ShortVectorsOf64Ranks_RunAllTilesAtOnce) {
  EngineOptions options;
  options.policy = compression::Policy(compression::CodecSpec{.id = compression::CodecId::int8});
  const Layout layout = flat_layout(64);
  const CodecSet codecs(options.policy, 0, layout);
  const std::size_t largest = largest_tile_bytes(options, Choices(options, layout), layout, codecs);
  const Strides strides =
      strides_for(codecs, Arithmetic::lossy_native, DataType::float32, kBlockElements);
  const std::size_t small =
      strides.total(regions_for(ScheduleKind::direct, Arithmetic::lossy_native, layout));
  EXPECT_LE(64 * small, kMaxStagingBytes - largest);
}

}  // namespace
}  // namespace thinwire::collectives
