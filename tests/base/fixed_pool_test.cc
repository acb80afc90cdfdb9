#include "base/fixed_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace thinwire {
namespace {

TEST(FixedPool, TakenToTheEnd_RefusesUntilOneComesBack) {
  FixedPool<int> pool(3);
  std::set<int*> taken;
  for (int i = 0; i < 3; ++i) taken.insert(pool.try_take());
  EXPECT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken.count(nullptr), 0U);
  EXPECT_EQ(pool.try_take(), nullptr);
  EXPECT_EQ(pool.in_use(), 3U);
  int* back = *taken.begin();
  pool.give_back(back);
  EXPECT_EQ(pool.in_use(), 2U);
  EXPECT_EQ(pool.try_take(), back);
}

TEST(FixedPool, Indices_NameTheObjects) {
  FixedPool<int> pool(4);
  for (int i = 0; i < 4; ++i) {
    const int* object = pool.try_take();
    EXPECT_EQ(&pool.at(pool.index_of(object)), object);
  }
}

}  // namespace
}  // namespace thinwire
