// The ring and CollNet call plans, executed on plain arrays.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <numeric>
#include <vector>

#include "perf/collnet_plan.h"
#include "perf/host_reduce.h"
#include "perf/payload.h"
#include "perf/ring_plan.h"
#include "perf/verify.h"

namespace thinwire::perf {
namespace {

using Bytes = std::vector<unsigned char>;

// All ranks of a ring in one thread: each channel's messages in a queue per link.
class RingOnArrays {
 public:
  RingOnArrays(const Payload& payload, int channels, std::size_t slice_bytes)
      : payload_(payload), channels_(channels), slice_bytes_(slice_bytes) {
    for (int rank = 0; rank < payload.ranks; ++rank) {
      inputs_.emplace_back(payload.shape.send_count * element_bytes(payload.type));
      outputs_.emplace_back(payload.shape.recv_count * element_bytes(payload.type));
      fill_send(payload, rank, 0, payload.shape.send_count, inputs_.back().data());
    }
  }

  void run() {
    for (int channel = 0; channel < channels_; ++channel) run_channel(channel);
  }
  Bytes& output(int rank) { return outputs_[static_cast<std::size_t>(rank)]; }

 private:
  std::size_t bytes() const {
    const bool gathers = payload_.collective == Collective::all_gather;
    const std::size_t count = gathers ? payload_.shape.send_count : payload_.shape.recv_count;
    return count * element_bytes(payload_.type);
  }

  void run_channel(int channel) {
    const std::size_t ranks = inputs_.size();
    const Share share = channel_share(bytes(), channel, channels_);
    std::vector<std::vector<RingSlice>> plans;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      plans.push_back(ring_plan({payload_.collective, static_cast<int>(rank), payload_.ranks,
                                 bytes(), share.begin, share.end, slice_bytes_}));
    }
    std::vector<std::deque<Bytes>> links(ranks);  // to rank
    std::vector<std::size_t> next(ranks, 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (next[rank] == plans[rank].size()) continue;
        const RingSlice& slice = plans[rank][next[rank]];
        if (slice.recv && links[rank].empty()) continue;
        execute(slice, rank, links);
        ++next[rank];
        moved = true;
      }
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(next[rank], plans[rank].size());
      EXPECT_TRUE(links[rank].empty());
    }
  }

  void execute(const RingSlice& slice, std::size_t rank, std::vector<std::deque<Bytes>>& links) {
    ASSERT_LE(slice.bytes, slice_bytes_);
    const unsigned char* input = inputs_[rank].data() + slice.input_offset;
    Bytes value(slice.bytes);
    if (slice.recv) {
      ASSERT_EQ(links[rank].front().size(), slice.bytes);
      value = links[rank].front();
      links[rank].pop_front();
    }
    const std::size_t count = slice.bytes / element_bytes(payload_.type);
    if (slice.recv && slice.input) {
      reduce_arrays(value.data(), value.data(), input, count, payload_.type,
                    network_op(payload_.op));
    } else if (slice.input) {
      std::memcpy(value.data(), input, slice.bytes);
    }
    if (slice.last_reduction && payload_.op == PerfOp::avg) {
      scale_average(value.data(), count, payload_.type, payload_.ranks);
    }
    if (slice.output) {
      std::memcpy(outputs_[rank].data() + slice.output_offset, value.data(), slice.bytes);
    }
    if (slice.send) links[(rank + 1) % links.size()].push_back(std::move(value));
  }

  Payload payload_;
  int channels_;
  std::size_t slice_bytes_;
  std::vector<Bytes> inputs_;
  std::vector<Bytes> outputs_;
};

TEST(RingPlan, EveryCollective_GivesTheExpectedResult) {
  for (const Collective collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    for (const int ranks : {2, 3, 5}) {
      for (const std::size_t bytes : {8u, 100u, 4096u, 50000u}) {
        for (const int channels : {1, 3}) {
          Payload payload;
          payload.collective = collective;
          payload.type = DataType::float16;
          payload.op = PerfOp::avg;
          payload.ranks = ranks;
          payload.shape = shape_of(collective, bytes, payload.type, ranks);
          RingOnArrays ring(payload, channels, 1024);
          ring.run();
          for (int rank = 0; rank < ranks; ++rank) {
            const Verdict verdict = verify(payload, rank, ring.output(rank).data());
            EXPECT_EQ(verdict.wrong, 0) << name_of(collective) << " " << ranks << " " << bytes
                                        << " " << channels << ": " << verdict.first_wrong;
          }
        }
      }
    }
  }
}

TEST(RingPlan, LargeAllReduce_UsesFullSlices) {
  const auto plan = ring_plan({Collective::all_reduce, 0, 4, 64u << 20, 0, 64u << 20, 1u << 20});
  std::size_t sent = 0;
  for (const RingSlice& slice : plan) {
    EXPECT_EQ(slice.bytes, 1u << 20);
    if (slice.send) sent += slice.bytes;
  }
  EXPECT_EQ(sent, (64u << 20) / 4 * 6);  // 2(n-1)/n of the vector
}

TEST(CollNetPlan, Chunks_AreAsNcclChooses) {
  EXPECT_EQ(chunk_of(8, 1), 32768u);
  EXPECT_EQ(chunk_of(64u << 20, 1), 524288u);
  EXPECT_EQ(chunk_of(16u << 20, 1), 262144u);
  EXPECT_EQ(chunk_of(64u << 20, 8), 131072u);
}

CollNetParameters parameters_of(Collective collective, int ranks, std::size_t bytes, int channels) {
  CollNetParameters p;
  p.collective = collective;
  p.ranks = ranks;
  p.bytes = bytes;
  p.channels = channels;
  return p;
}

TEST(CollNetPlan, SmallAllReduce_IsAWholeChunk) {
  const auto calls = collnet_plan(parameters_of(Collective::all_reduce, 2, 8, 1));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].call_bytes, 32768u);
  EXPECT_EQ(calls[0].send_bytes, 8u);
}

TEST(CollNetPlan, ManyChannels_GoInGroupsOfEightStepByStep) {
  CollNetParameters p = parameters_of(Collective::all_reduce, 2, 10u << 20, 20);
  p.chunk_bytes = 131072;
  const auto calls = collnet_plan(p);
  ASSERT_EQ(calls.size(), 12u);  // 4 steps of 2.5 MiB, 3 groups each
  EXPECT_EQ(calls[0].call_bytes, 8u * 131072);
  EXPECT_EQ(calls[2].call_bytes, 4u * 131072);
  EXPECT_EQ(calls[4].group, 1);
  std::size_t covered = 0;
  for (const CollNetCall& call : calls) {
    EXPECT_EQ(call.send_offset, covered);
    covered += call.call_bytes;
  }
  EXPECT_EQ(covered, 10u << 20);
}

TEST(CollNetPlan, Registered_IsOneExactCallPerLimit) {
  CollNetParameters p = parameters_of(Collective::all_reduce, 2, 1000, 1);
  p.registered = true;
  p.max_call_bytes = 1u << 30;
  EXPECT_EQ(collnet_plan(p).size(), 1u);
  EXPECT_EQ(collnet_plan(p)[0].call_bytes, 1000u);
  p.max_call_bytes = 512;
  const auto calls = collnet_plan(p);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].call_bytes, 488u);
}

// The windows of all calls tile the vector; each rank's own parts tile its slice.
void expect_windows_tile(const CollNetParameters& p) {
  const bool gathers = p.collective == Collective::all_gather;
  std::size_t covered = 0;
  std::size_t own = 0;
  for (const CollNetCall& call : collnet_plan(p)) {
    EXPECT_EQ(call.window.offset, covered);
    EXPECT_GT(call.window.bytes, 0u);
    covered += call.window.bytes;
    const std::size_t bytes = gathers ? call.send_bytes : call.recv_bytes;
    if (bytes > 0) {
      EXPECT_EQ(gathers ? call.send_offset : call.recv_offset, own);
    }
    own += bytes;
  }
  EXPECT_EQ(covered, p.bytes * static_cast<std::size_t>(p.ranks));
  EXPECT_EQ(own, p.bytes);
}

TEST(CollNetPlan, Windows_TileTheVectorAndEachSlice) {
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    for (const int channels : {1, 2, 9}) {
      for (const std::size_t bytes : {16u, 100000u, 3u << 20}) {
        for (int rank = 0; rank < 3; ++rank) {
          CollNetParameters p = parameters_of(collective, 3, bytes, channels);
          p.rank = rank;
          expect_windows_tile(p);
        }
      }
    }
  }
}

TEST(CollNetPlan, StagingSlots_OfCallsInFlightAreDisjoint) {
  CollNetParameters p = parameters_of(Collective::all_reduce, 2, 64u << 20, 10);
  p.chunk_bytes = 65536;
  const auto calls = collnet_plan(p);
  const std::size_t limit = staging_bytes(10, 65536);
  const std::size_t window = 2 * kStepsInFlight;  // two groups
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_LE(calls[i].staging_offset + calls[i].call_bytes, limit);
    for (std::size_t j = i + 1; j < std::min(calls.size(), i + window); ++j) {
      const bool before = calls[i].staging_offset + calls[i].call_bytes <= calls[j].staging_offset;
      const bool after = calls[j].staging_offset + calls[j].call_bytes <= calls[i].staging_offset;
      EXPECT_TRUE(before || after) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace thinwire::perf
