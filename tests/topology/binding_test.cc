#include "topology/binding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "topology/sysfs.h"

namespace thinwire::topology {
namespace {

CpuSet first_of(const CpuSet& cores) {
  CpuSet one;
  if (!cores.empty()) one.add(cores.cpus().front());
  return one;
}

TEST(Binding_OwnThread_StaysOnTheCores, AndOthersAreLeftAlone) {
  const CpuSet before = allowed_cores();
  if (before.count() < 2) GTEST_SKIP() << "one core only";
  const CpuSet one = first_of(before);
  CpuSet inside;
  bool pinned = false;
  std::thread([&] {
    pinned = pin_this_thread(one);
    inside = allowed_cores();
  }).join();
  EXPECT_TRUE(pinned);
  EXPECT_EQ(inside, one);
  EXPECT_EQ(allowed_cores(), before);
}

TEST(Binding_CoresThatAreNotOurs_ChangeNothing, NorDoAllOrNone) {
  std::thread([] {
    const CpuSet before = allowed_cores();
    CpuSet foreign;
    foreign.add(CpuSet::kMaxCpus - 1);
    EXPECT_FALSE(pin_this_thread(foreign));
    EXPECT_FALSE(pin_this_thread(CpuSet()));
    EXPECT_FALSE(pin_this_thread(before));
    EXPECT_EQ(allowed_cores(), before);
  }).join();
}

TEST(NodeMemory_OnAnyNode_IsZeroedAndAligned, EvenWhereThereIsNoSuchNode) {
  for (const int node : {-1, 0, 1, 63, 64, 1023, 1024, 100000}) {
    NodeMemory memory(100000, node);
    ASSERT_TRUE(memory) << node;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 4096, 0u);
    EXPECT_TRUE(std::all_of(memory.data(), memory.data() + 100000,
                            [](std::byte b) { return b == std::byte{0}; }));
    memory.data()[99999] = std::byte{1};
    NodeMemory moved = std::move(memory);
    EXPECT_EQ(moved.data()[99999], std::byte{1});
    moved = NodeMemory();
    EXPECT_FALSE(moved);
  }
}

TEST(NodeMemory_MoreThanThereIs_IsEmpty, AndSoIsNone) {
  EXPECT_FALSE(NodeMemory(std::size_t{1} << 60, 0));
  EXPECT_FALSE(NodeMemory(0, 0));
}

}  // namespace
}  // namespace thinwire::topology
