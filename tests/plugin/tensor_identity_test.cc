#include "plugin/tensor_identity.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/plugin/identity_sequences.h"

namespace thinwire::plugin {
namespace {

using Kind = IdentityAnswer::Kind;

// Adds the parts in NCCL's order: channel by channel, send then receive.
void add(OperationQueue& queue, const CollectiveEvent& tensor, std::uint64_t parent,
         const Cut& cut) {
  for (int channel = 0; channel < cut.channels; ++channel) {
    for (int direction = 0; direction < 2; ++direction) {
      ASSERT_EQ(queue.add(tensor, parent, part_of(cut, channel, cut.steps(tensor.count))), nullptr);
    }
  }
}

// Makes all calls; the keys in order.
std::vector<std::uint64_t> run(OperationQueue& queue, const CollectiveEvent& tensor,
                               const Cut& cut) {
  std::vector<std::uint64_t> keys;
  for (const ExpectedCall& expected : calls_of(tensor, cut)) {
    const IdentityAnswer answer = queue.identify(expected.call);
    EXPECT_EQ(answer.kind, Kind::known) << (answer.reason == nullptr ? "" : answer.reason);
    if (answer.kind != Kind::known) return keys;
    EXPECT_EQ(answer.tensor.valid, expected.valid);
    keys.push_back(answer.tensor.key);
    queue.accept(expected.call);
  }
  return keys;
}

TEST(BufferIdentity, SameCall_SameKey_OtherBufferOrSize_OtherKey) {
  collectives::Call call;
  call.input = call.output = address(0x1000);
  call.count = 100;
  const collectives::TensorId first = buffer_identity(call);
  EXPECT_EQ(first.valid, 100u);
  EXPECT_EQ(buffer_identity(call).key, first.key);
  call.count = 101;
  EXPECT_NE(buffer_identity(call).key, first.key);
  call.count = 100;
  call.input = address(0x2000);
  EXPECT_NE(buffer_identity(call).key, first.key);
}

TEST(OperationQueue, OneHead_AnyShape_EveryCallHasItsLength) {
  for (const int channels : {1, 2, 7, 8, 9, 16, 17, 33, 64}) {
    for (const std::size_t count : {1, 8191, 8192, 8193, 131072, 1000003}) {
      OperationQueue queue(1, true);
      const CollectiveEvent tensor = all_reduce_of(count, 0x1000, CollAlgorithm::collnet_direct);
      add(queue, tensor, 1, {channels});
      run(queue, tensor, {channels});
      EXPECT_EQ(queue.pending(), 0u) << channels << " channels, " << count << " elements";
    }
  }
}

TEST(OperationQueue, SameTensorAgain_SameKeysInOrderAllDifferent) {
  OperationQueue queue(1, true);
  const Cut cut{16};
  const CollectiveEvent tensor = all_reduce_of(1 << 20, 0x1000);
  add(queue, tensor, 1, cut);
  add(queue, tensor, 2, cut);
  const auto first = run(queue, tensor, cut);
  EXPECT_EQ(first.size(), calls_of(tensor, cut).size());
  EXPECT_EQ(run(queue, tensor, cut), first);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), first.size());
}

TEST(OperationQueue, KeyOf_ScopeBuffersSizeAndOp_AllCount) {
  const Cut cut{2};
  std::set<std::uint64_t> keys;
  const auto key = [&](std::uint64_t scope, CollectiveEvent tensor, ReduceOp op) {
    OperationQueue queue(scope, true);
    add(queue, tensor, 1, cut);
    collectives::Call call = calls_of(tensor, cut)[0].call;
    call.op = op;
    keys.insert(queue.identify(call).tensor.key);
  };
  key(1, all_reduce_of(100, 0x1000), ReduceOp::sum);
  key(2, all_reduce_of(100, 0x1000), ReduceOp::sum);
  key(1, all_reduce_of(100, 0x2000), ReduceOp::sum);
  key(1, all_reduce_of(101, 0x1000), ReduceOp::sum);
  key(1, all_reduce_of(100, 0x1000), ReduceOp::max);
  CollectiveEvent in_place = all_reduce_of(100, 0x1000);
  in_place.receive = address(0x1000);
  key(1, in_place, ReduceOp::sum);
  EXPECT_EQ(keys.size(), 6u);
}

TEST(OperationQueue, SeveralOperationsQueued_EachGetsItsOwn) {
  OperationQueue queue(1, true);
  const Cut cut{9};
  std::vector<CollectiveEvent> tensors;
  for (std::uint64_t i = 0; i < 20; ++i) tensors.push_back(all_reduce_of(1000 * i + 1, 64 * i + 8));
  for (std::size_t i = 0; i < tensors.size(); ++i) add(queue, tensors[i], i + 1, cut);
  std::set<std::uint64_t> keys;
  std::size_t calls = 0;
  for (const CollectiveEvent& tensor : tensors) {
    const auto got = run(queue, tensor, cut);
    keys.insert(got.begin(), got.end());
    calls += got.size();
  }
  EXPECT_EQ(keys.size(), calls);
  EXPECT_EQ(queue.pending(), 0u);
}

TEST(OperationQueue, RefusedCall_SameAnswerUntilTaken) {
  OperationQueue queue(1, true);
  const Cut cut{8};
  const CollectiveEvent tensor = all_reduce_of(100000, 0x1000);
  add(queue, tensor, 1, cut);
  const collectives::Call call = calls_of(tensor, cut)[0].call;
  const IdentityAnswer first = queue.identify(call);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(queue.identify(call).tensor.key, first.tensor.key);
  queue.accept(call);
  EXPECT_NE(queue.identify(call).tensor.key, first.tensor.key);
}

// With several heads the last step's end depends on which head this is, which no event tells.
TEST(OperationQueue, SeveralHeads_AllButTheLastStepAreKnown) {
  for (int head = 0; head < 4; ++head) {
    OperationQueue queue(1, false);
    const Cut cut{.channels = 9, .heads = 4, .head = head};
    const CollectiveEvent tensor = all_reduce_of(2000000, 0x1000, CollAlgorithm::collnet_direct);
    add(queue, tensor, 1, cut);
    const auto calls = calls_of(tensor, cut);
    ASSERT_GT(calls.size(), 4u);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const IdentityAnswer answer = queue.identify(calls[i].call);
      const bool last = i + 2 >= calls.size();
      EXPECT_EQ(answer.kind, last ? Kind::unknown_length : Kind::known);
      if (!last) {
        EXPECT_EQ(answer.tensor.valid, calls[i].valid);
      }
      queue.accept(calls[i].call);
    }
    EXPECT_EQ(queue.pending(), 0u);
  }
}

TEST(OperationQueue, ChainWithRanksBehindTheHead_LengthIsKnown) {
  OperationQueue queue(1, false);
  const Cut cut{16};
  const CollectiveEvent tensor = all_reduce_of(1000003, 0x1000, CollAlgorithm::collnet_chain);
  add(queue, tensor, 1, cut);
  run(queue, tensor, cut);
  EXPECT_EQ(queue.pending(), 0u);
}

// Two heads take turns: this node's other head has the odd channels, so the steps are too few.
TEST(OperationQueue, ChainSharedByHeads_EndIsUnknown) {
  for (const std::vector<int>& mine : {std::vector<int>{0, 2}, {1, 3}, {0}}) {
    OperationQueue queue(1, false);
    const CollectiveEvent tensor = all_reduce_of(40000, 0x1000, CollAlgorithm::collnet_chain);
    const Cut all{.channels = mine.size() == 1 ? 2 : 4};
    for (const int channel : mine) {
      ASSERT_EQ(queue.add(tensor, 1, part_of(all, channel, all.steps(tensor.count))), nullptr);
    }
    collectives::Call call;
    call.count = mine.size() * 8192;
    for (int step = 1; step < all.steps(tensor.count); ++step) {
      EXPECT_EQ(queue.identify(call).kind, Kind::known);
      queue.accept(call);
    }
    EXPECT_EQ(queue.identify(call).kind, Kind::unknown_length);
  }
}

// In one step, this head has the second channel alone: the first one's head has all there is.
TEST(OperationQueue, ChainShortTensorOnAnotherHead_EndIsUnknown) {
  OperationQueue queue(1, false);
  const CollectiveEvent tensor = all_reduce_of(5000, 0x1000, CollAlgorithm::collnet_chain);
  ASSERT_EQ(queue.add(tensor, 1, part_of({.channels = 2}, 1, 1)), nullptr);
  collectives::Call call;
  call.count = 8192;
  EXPECT_EQ(queue.identify(call).kind, Kind::unknown_length);
}

TEST(OperationQueue, PartAfterTheFirstCall_BeginsAnew) {
  OperationQueue queue(1, true);
  const Cut cut{2};
  const CollectiveEvent tensor = all_reduce_of(50000, 0x1000);
  const int steps = cut.steps(tensor.count);
  ASSERT_EQ(queue.add(tensor, 1, part_of(cut, 0, steps)), nullptr);
  ASSERT_EQ(queue.add(tensor, 1, part_of(cut, 1, steps)), nullptr);
  const collectives::Call call = calls_of(tensor, cut)[0].call;
  ASSERT_EQ(queue.identify(call).kind, Kind::known);
  queue.accept(call);
  ASSERT_EQ(queue.add(tensor, 1, part_of(cut, 0, steps)), nullptr);
  EXPECT_EQ(queue.pending(), 2u);
}

TEST(OperationQueue, RegisteredBuffers_OneCallOrSeveral_ExactLengths) {
  for (const std::size_t most : {std::size_t{1} << 30, std::size_t{1000}, std::size_t{333}}) {
    OperationQueue queue(1, true);
    const CollectiveEvent tensor = all_reduce_of(10000, 0x1000);
    ASSERT_EQ(queue.add(tensor, 1, part_of({}, 0, 1)), nullptr);
    std::set<std::uint64_t> keys;
    for (std::size_t done = 0; done < tensor.count;) {
      collectives::Call call;
      call.count = std::min(most, tensor.count - done);
      call.input = static_cast<const char*>(tensor.send) + done * sizeof(float);
      call.output = static_cast<char*>(tensor.receive) + done * sizeof(float);
      const IdentityAnswer answer = queue.identify(call);
      ASSERT_EQ(answer.kind, Kind::known);
      EXPECT_EQ(answer.tensor.valid, call.count);
      EXPECT_TRUE(keys.insert(answer.tensor.key).second);
      queue.accept(call);
      done += call.count;
    }
    EXPECT_EQ(queue.pending(), 0u);
  }
}

TEST(OperationQueue, RegisteredBuffer_OtherPlaceOrTooLong_Mismatch) {
  OperationQueue queue(1, true);
  const CollectiveEvent tensor = all_reduce_of(10000, 0x1000);
  ASSERT_EQ(queue.add(tensor, 1, part_of({}, 0, 1)), nullptr);
  collectives::Call call;
  call.input = tensor.send;
  call.output = tensor.receive;
  call.count = 10001;
  EXPECT_EQ(queue.identify(call).kind, Kind::mismatch);
  call.count = 5000;
  ASSERT_EQ(queue.identify(call).kind, Kind::known);
  queue.accept(call);
  EXPECT_EQ(queue.identify(call).kind, Kind::mismatch);
}

TEST(OperationQueue, GraphReplayed_SameParentsAgain_SameKeys) {
  OperationQueue queue(1, true);
  const Cut cut{10};
  const CollectiveEvent tensor = all_reduce_of(300000, 0x1000);
  add(queue, tensor, 1, cut);
  const auto first = run(queue, tensor, cut);
  add(queue, tensor, 1, cut);
  add(queue, tensor, 1, cut);  // two replays before the first call
  EXPECT_EQ(queue.pending(), 2u);
  EXPECT_EQ(run(queue, tensor, cut), first);
  EXPECT_EQ(run(queue, tensor, cut), first);
}

TEST(OperationQueue, CallThatDoesNotFit_Mismatch) {
  const Cut cut{9};
  const CollectiveEvent tensor = all_reduce_of(100000, 0x1000);
  OperationQueue queue(1, true);
  EXPECT_EQ(queue.identify(calls_of(tensor, cut)[0].call).kind, Kind::none);
  add(queue, tensor, 1, cut);
  collectives::Call call = calls_of(tensor, cut)[0].call;
  EXPECT_EQ(queue.identify(call).kind, Kind::known);
  call.type = DataType::int32;
  EXPECT_STREQ(queue.identify(call).reason, "the data type differs");
  call.type = DataType::float32;
  call.count -= 1;
  EXPECT_STREQ(queue.identify(call).reason, "the length differs");
  call.count = 8192;  // the second group's
  EXPECT_STREQ(queue.identify(call).reason, "the length differs");
}

TEST(OperationQueue, StepsThatDoNotFit_Mismatch) {
  const Cut cut{2};
  const CollectiveEvent tensor = all_reduce_of(100000, 0x1000);
  const int right = cut.steps(tensor.count);
  for (const bool one_head : {true, false}) {
    for (const int steps : {right + 1, right - 1, right}) {
      OperationQueue queue(1, one_head);
      ASSERT_EQ(queue.add(tensor, 1, part_of(cut, 0, steps)), nullptr);
      ASSERT_EQ(queue.add(tensor, 1, part_of(cut, 1, steps)), nullptr);
      const bool good = steps == right || (steps < right && !one_head);
      const Kind kind = queue.identify(calls_of(tensor, cut)[0].call).kind;
      EXPECT_EQ(kind, good ? Kind::known : Kind::mismatch) << steps << " steps";
    }
  }
}

TEST(OperationQueue, PartOutOfRange_Refused) {
  OperationQueue queue(1, true);
  const CollectiveEvent tensor = all_reduce_of(100, 0x1000);
  EXPECT_NE(queue.add(tensor, 1, part_of({}, 64, 1)), nullptr);
  EXPECT_NE(queue.add(tensor, 1, part_of({}, -1, 1)), nullptr);
  EXPECT_NE(queue.add(tensor, 1, part_of({}, 0, 0)), nullptr);
  EXPECT_NE(queue.add(tensor, 1, part_of({.chunk_bytes = 0}, 0, 1)), nullptr);
  EXPECT_EQ(queue.pending(), 0u);
}

TEST(OperationQueue, NothingEverSent_RefusesAtItsBound) {
  OperationQueue queue(1, true);
  const CollectiveEvent tensor = all_reduce_of(100, 0x1000);
  for (std::uint64_t i = 0; i < kMaxOperations; ++i) {
    ASSERT_EQ(queue.add(tensor, i + 1, part_of({}, 0, 1)), nullptr);
  }
  EXPECT_NE(queue.add(tensor, kMaxOperations + 1, part_of({}, 0, 1)), nullptr);
  EXPECT_EQ(queue.pending(), kMaxOperations);
}

TEST(OperationQueue, HugeNumbers_NoOverflow) {
  OperationQueue queue(1, true);
  CollectiveEvent tensor = all_reduce_of(SIZE_MAX / 2, 0x1000);
  ASSERT_EQ(queue.add(tensor, 1, part_of({.chunk_bytes = INT32_MAX}, 0, INT32_MAX)), nullptr);
  collectives::Call call;
  call.count = INT32_MAX / 4;
  EXPECT_EQ(queue.identify(call).kind, Kind::mismatch);
}

// Any mixture of events and calls: whatever is answered as known is what a model, which remembers
// everything, says; the queue never reports a length beyond the call.
TEST(OperationQueue, RandomInterleavings_KnownIsAlwaysRight) {
  std::mt19937 random(7);
  const auto pick = [&](int below) { return static_cast<int>(random() % below); };
  for (int round = 0; round < 300; ++round) {
    OperationQueue queue(1, true);
    std::vector<ExpectedCall> pending;
    std::size_t next = 0;
    for (std::uint64_t i = 1; i < 40; ++i) {
      if (pick(2) == 0) {
        const Cut cut{.channels = 1 + pick(20), .chunk_bytes = 32768 << pick(3)};
        const auto count = static_cast<std::size_t>(1 + pick(1 << 20));
        const CollectiveEvent tensor = all_reduce_of(count, 64 * i);
        add(queue, tensor, i, cut);
        for (const ExpectedCall& call : calls_of(tensor, cut)) pending.push_back(call);
      }
      for (int calls = pick(12); calls > 0 && next < pending.size(); --calls) {
        const IdentityAnswer answer = queue.identify(pending[next].call);
        ASSERT_EQ(answer.kind, Kind::known);
        ASSERT_EQ(answer.tensor.valid, pending[next].valid);
        if (pick(4) == 0) continue;  // refused
        queue.accept(pending[next++].call);
      }
    }
  }
}

}  // namespace
}  // namespace thinwire::plugin
