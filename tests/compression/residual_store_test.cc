#include "compression/residual_store.h"

#include <gtest/gtest.h>

namespace thinwire::compression {
namespace {

constexpr std::size_t kMany = 1 << 20;

ResidualKey key(std::uint64_t tensor, std::size_t count = 100) {
  return {.tensor = tensor, .geometry = 1, .count = count, .type = DataType::float32};
}

// Finds, lets go at once; the values live on in the store.
Residual* use(ResidualStore& store, const ResidualKey& key, std::size_t valid = 100) {
  Residual* residual = store.find_and_pin(key, key.count, 1, valid);
  if (residual != nullptr) store.unpin(residual);
  return residual;
}

TEST(ResidualStore, Tensor_GetsZerosAtItsThirdAppearanceAndKeepsWhatIsWritten) {
  ResidualStore store(kMany, 3);
  EXPECT_EQ(use(store, key(7)), nullptr);
  EXPECT_EQ(use(store, key(7)), nullptr);
  Residual* residual = use(store, key(7));
  ASSERT_NE(residual, nullptr);
  EXPECT_EQ(residual->values, ResidualValues(100, 0.0f));
  residual->values[5] = 2;
  ASSERT_EQ(use(store, key(7)), residual);
  EXPECT_EQ(residual->values[5], 2.0f);
  EXPECT_EQ(store.stats().hits, 2u);
  EXPECT_EQ(store.stats().misses, 2u);
  EXPECT_EQ(store.stats().bytes, 400u);
  EXPECT_DOUBLE_EQ(store.stats().norm, 2.0);
}

TEST(ResidualStore, AnotherSizeTypeOrGeometry_IsAnotherTensor) {
  ResidualStore store(kMany, 1);
  Residual* first = use(store, key(7));
  ResidualKey other = key(7, 101);
  EXPECT_NE(use(store, other), first);
  other = key(7);
  other.type = DataType::bfloat16;
  EXPECT_NE(use(store, other), first);
  other = key(7);
  other.geometry = 2;
  EXPECT_NE(use(store, other), first);
  EXPECT_EQ(store.stats().tensors, 4u);
}

TEST(ResidualStore, ChangedValidLength_StartsFromZero) {
  ResidualStore store(kMany, 1);
  use(store, key(7), 90)->values[3] = 1;
  Residual* residual = use(store, key(7), 91);
  ASSERT_NE(residual, nullptr);
  EXPECT_EQ(residual->values[3], 0.0f);
  EXPECT_EQ(store.stats().resets, 1u);
}

TEST(ResidualStore, OverBudget_GivesUpWhatIsNoLongerUsed) {
  ResidualStore store(800, 2);
  for (int round = 0; round < 2; ++round) {
    use(store, key(1));
    use(store, key(2));
  }
  EXPECT_EQ(store.stats().bytes, 800u);
  // Tensor 3 recurs while 1 and 2 do not: one of them has to go.
  use(store, key(3));
  EXPECT_NE(use(store, key(3)), nullptr);
  EXPECT_EQ(store.stats().bytes, 800u);
  EXPECT_EQ(store.stats().evictions, 1u);
}

TEST(ResidualStore, SetThatDoesNotFit_KeepsThoseThatHaveMemory) {
  ResidualStore store(800, 1);
  for (int round = 0; round < 5; ++round) {
    EXPECT_NE(use(store, key(1)), nullptr);
    EXPECT_NE(use(store, key(2)), nullptr);
    EXPECT_EQ(use(store, key(3)), nullptr);
  }
  EXPECT_EQ(store.stats().evictions, 0u);
}

TEST(ResidualStore, PinnedResidual_IsNeverGivenUp) {
  ResidualStore store(400, 1);
  Residual* pinned = store.find_and_pin(key(1), 100, 1, 100);
  ASSERT_NE(pinned, nullptr);
  for (int round = 0; round < 3; ++round) EXPECT_EQ(use(store, key(2)), nullptr);
  EXPECT_EQ(pinned->values.size(), 100u);
  store.unpin(pinned);
  EXPECT_NE(use(store, key(2)), nullptr);
}

TEST(ResidualStore, TensorLargerThanTheBudget_GetsNone) {
  ResidualStore store(100, 1);
  for (int round = 0; round < 3; ++round) EXPECT_EQ(use(store, key(1)), nullptr);
  EXPECT_EQ(store.stats().bytes, 0u);
}

TEST(ResidualStore, EndlessNewTensors_AreForgotten) {
  ResidualStore store(kMany, 1);
  Residual* pinned = store.find_and_pin(key(1), 100, 1, 100);
  for (std::uint64_t tensor = 2; tensor < 200'000; ++tensor) use(store, key(tensor, 1));
  EXPECT_LE(store.stats().bytes, kMany);
  EXPECT_EQ(use(store, key(1)), pinned);
  store.unpin(pinned);
}

}  // namespace
}  // namespace thinwire::compression
