#include "plugin/workers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "topology/sysfs.h"

namespace thinwire::plugin {
namespace {

constexpr std::int64_t kHourUs = std::int64_t{3600} * 1'000'000;

struct Counting {
  bool progress() {
    ++passes;
    return busy;
  }
  std::atomic<int> passes{0};
  std::atomic<bool> busy{false};
};

// Waits, with a deadline that only a hang reaches.
template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Workers_IdleItem_SleepsUntilKicked, ThenPasses) {
  Workers workers(1, kHourUs);
  Counting item;
  workers.add(&item, [&item] { return item.progress(); });
  workers.kick();
  ASSERT_TRUE(eventually([&] { return item.passes > 0; }));
  for (int round = 0; round < 5; ++round) {
    const int before = item.passes;
    workers.kick();
    ASSERT_TRUE(eventually([&] { return item.passes > before; }));
  }
  workers.remove(&item);
}

TEST(Workers_BusyItem_IsDrivenWithoutKicks, UntilIdle) {
  Workers workers(2, kHourUs);
  Counting item;
  item.busy = true;
  workers.add(&item, [&item] { return item.progress(); });
  workers.kick();
  ASSERT_TRUE(eventually([&] { return item.passes > 1000; }));
  workers.remove(&item);
}

// Where a worker runs that drives what belongs to `device`.
topology::CpuSet cores_seen(Workers& workers, int device) {
  std::atomic<bool> seen{false};
  topology::CpuSet cores;
  const auto look = [&] {
    if (!seen) cores = topology::allowed_cores();
    seen = true;
    return false;
  };
  workers.add(&seen, look, device);
  workers.kick();
  EXPECT_TRUE(eventually([&] { return seen.load(); }));
  workers.remove(&seen);
  return cores;
}

TEST(Workers_WithCoresOfDevices_StayOnThem, WhicheverAreFewer) {
  const topology::CpuSet all = topology::allowed_cores();
  if (all.count() < 2) GTEST_SKIP() << "one core only";
  topology::CpuSet first;
  topology::CpuSet second;
  first.add(all.cpus()[0]);
  second.add(all.cpus()[1]);
  for (const int threads : {2, 3, 5}) {
    Workers workers(threads, kHourUs, {first, second});
    for (int round = 0; round < 4; ++round) {
      EXPECT_EQ(cores_seen(workers, 0), first) << threads;
      EXPECT_EQ(cores_seen(workers, 1), second) << threads;
    }
  }
  Workers one(1, kHourUs, {first, second});
  EXPECT_EQ(cores_seen(one, 1), first | second);
  Workers unknown(1, kHourUs, {first, {}});
  EXPECT_EQ(cores_seen(unknown, 0), all);
}

TEST(Workers_RemovedItem_IsNeverTouchedAgain, EvenWhenBusy) {
  Workers workers(2, 1);
  for (int round = 0; round < 200; ++round) {
    auto item = std::make_unique<Counting>();
    item->busy = true;
    workers.add(item.get(), [raw = item.get()] { return raw->progress(); });
    workers.kick();
    workers.remove(item.get());
  }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// In a child, since the limit stays.
void start_without_memory_for_stacks() {
  const rlimit none{1 << 20, 1 << 20};
  setrlimit(RLIMIT_AS, &none);
  const Workers workers(64, 1);  // more than the stacks of earlier threads that libc may have kept
  std::_Exit(workers.started().code() == Code::system_error && workers.none() ? 0 : 1);
}

TEST(Workers_WithoutMemoryForThreads_SayWhy, AndAreNone) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers need the address space";
  EXPECT_EXIT(start_without_memory_for_stacks(), ::testing::ExitedWithCode(0), "");
}

TEST(Workers_None_AcceptEverything, AndDoNothing) {
  Workers workers(0, 1);
  Counting item;
  workers.add(&item, [&item] { return item.progress(); });
  workers.kick();
  workers.remove(&item);
  workers.stop();
  EXPECT_TRUE(workers.none());
  EXPECT_EQ(item.passes, 0);
}

}  // namespace
}  // namespace thinwire::plugin
