// Collectives with a lossy codec and many tiles: identical bits on all ranks, equal to the
// reference and from run to run, within a bound, and exact wherever compression does not apply.
// Every codec on every number of ranks: engine_every_codec_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/collectives/workload.h"

namespace thinwire::collectives::testing {
namespace {

constexpr SchedulePolicy kSchedules[] = {SchedulePolicy::ring, SchedulePolicy::direct,
                                         SchedulePolicy::grid, SchedulePolicy::hierarchical,
                                         SchedulePolicy::tree, SchedulePolicy::exchange};
constexpr compression::CodecId kCodecs[] = {compression::CodecId::fp16, compression::CodecId::int8};

EngineOptions lossy_options(compression::CodecId codec, SchedulePolicy schedule) {
  EngineOptions options;
  options.policy = compression::Policy(compression::CodecSpec{.id = codec});
  options.schedule = schedule;
  options.compress_min_bytes = 1024;
  options.piece_bytes = 8192;
  options.max_tiles = 4;
  return options;
}

Problem all_reduce(int ranks, std::size_t count, DataType type, std::uint64_t seed) {
  Problem problem;
  problem.type = type;
  problem.count = count;
  fill_inputs(problem, ranks, seed);
  return problem;
}

std::vector<Bytes> run(Cluster& cluster, const Problem& problem, bool in_place) {
  Workload workload(problem, in_place);
  for (int rank = 0; rank < problem.ranks(); ++rank) {
    EXPECT_TRUE(workload.try_submit(cluster, rank));
  }
  EXPECT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
  std::vector<Bytes> outputs;
  for (int rank = 0; rank < problem.ranks(); ++rank) {
    EXPECT_TRUE(workload.status(rank).ok()) << workload.status(rank).text();
    outputs.push_back(workload.output(rank));
  }
  return outputs;
}

class EngineCodec : public ::testing::TestWithParam<int> {};

void expect_same_bits(const std::vector<Bytes>& outputs, const std::vector<Bytes>& expected) {
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
    ASSERT_EQ(hash_of(outputs[rank]), hash_of(outputs[0])) << "rank " << rank;
    ASSERT_TRUE(outputs[rank] == expected[rank]) << "rank " << rank;
  }
}

TEST_P(EngineCodec, AllReduce_GivesEveryRankTheReferencesBits) {
  const int ranks = GetParam();
  const std::size_t count = ranks < 32 ? 20000 + static_cast<std::size_t>(ranks) * 77 : 9001;
  for (const auto codec : kCodecs) {
    for (const SchedulePolicy schedule : kSchedules) {
      EngineOptions options = lossy_options(codec, schedule);
      options.layout = scattered_layout(ranks);
      Cluster cluster({.ranks = ranks, .engine = options, .seed = 1});
      Cluster another({.ranks = ranks, .engine = options, .seed = 2});
      for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
        if (ranks > 32 && type != DataType::bfloat16) continue;
        const Problem problem = all_reduce(ranks, count, type, 17);
        const std::vector<Bytes> expected = reference_outputs(problem, options);
        expect_same_bits(run(cluster, problem, false), expected);
        expect_same_bits(run(cluster, problem, true), expected);
        expect_same_bits(run(another, problem, false), expected);
      }
    }
  }
}

TEST_P(EngineCodec, ReduceScatter_MatchesReference) {
  const int ranks = GetParam();
  for (const auto codec : kCodecs) {
    for (const SchedulePolicy schedule : kSchedules) {
      EngineOptions options = lossy_options(codec, schedule);
      options.layout = scattered_layout(ranks);
      Cluster cluster({.ranks = ranks, .engine = options});
      for (const DataType type : {DataType::float32, DataType::bfloat16}) {
        Problem problem;
        problem.collective = Collective::reduce_scatter;
        problem.type = type;
        for (int rank = 0; rank < ranks; ++rank) {
          problem.piece_counts.push_back(rank % 3 == 1 ? 0 : 1000 + static_cast<std::size_t>(rank));
        }
        fill_inputs(problem, ranks, 3);
        expect_matches_reference(cluster, options, problem, false);
        expect_matches_reference(cluster, options, problem, true);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EngineCodec, ::testing::Values(2, 7, 12, 64));

TEST(EngineCodecBound, SumsAreWithinEachQuantisationsBound) {
  constexpr int kRanks = 6;
  // Half a step, relative to the largest magnitude of a block.
  const std::map<compression::CodecId, double> step = {
      {compression::CodecId::fp16, std::ldexp(1.0, -11)}, {compression::CodecId::int8, 0.0045}};
  for (const auto codec : kCodecs) {
    for (const SchedulePolicy schedule : kSchedules) {
      const EngineOptions options = lossy_options(codec, schedule);
      const Problem problem = all_reduce(kRanks, 30000, DataType::float32, 23);
      Cluster cluster({.ranks = kRanks, .engine = options});
      const Bytes output = run(cluster, problem, false)[3];
      std::vector<double> sums(problem.count);
      double magnitude = 0;
      for (const Bytes& input : problem.inputs) {
        const std::vector<double> values = to_doubles(problem.type, input);
        double largest = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) {
          sums[i] += values[i];
          largest = std::max(largest, std::abs(values[i]));
        }
        magnitude += largest;
      }
      const std::vector<double> got = to_doubles(problem.type, output);
      double worst = 0;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        worst = std::max(worst, std::abs(got[i] - sums[i]));
      }
      // A ring quantises partial sums n times, direct every contribution and the sum once.
      EXPECT_LE(worst, kRanks * step.at(codec) * magnitude);
      EXPECT_GT(worst, 0) << "nothing was compressed";
    }
  }
}

TEST(EngineCodecScope, WhatMustStayExact_IsExact) {
  constexpr int kRanks = 4;
  const EngineOptions options =
      lossy_options(compression::CodecId::int8, SchedulePolicy::automatic);
  EngineOptions exact = options;
  exact.policy = {};
  Cluster cluster({.ranks = kRanks, .engine = options});
  std::vector<Problem> problems;
  for (const DataType type : {DataType::int32, DataType::float64, DataType::float8_e4m3}) {
    problems.push_back(all_reduce(kRanks, 5000, type, 1));
  }
  problems.push_back(all_reduce(kRanks, 255, DataType::float32, 1));  // below the threshold
  problems.push_back(all_reduce(kRanks, 5000, DataType::float32, 1));
  problems.back().op = ReduceOp::max;
  Problem gather;
  gather.collective = Collective::all_gather;
  gather.piece_counts.assign(kRanks, 3000);
  fill_inputs(gather, kRanks, 9);
  problems.push_back(gather);
  for (const Problem& problem : problems) {
    expect_matches_reference(cluster, exact, problem, false);
  }
}

TEST(EngineCodecScope, CompressedTraffic_IsAsSmallAsPromised) {
  const Problem problem = all_reduce(4, 400000, DataType::float32, 1);
  const auto sent = [&](compression::CodecId codec) {
    EngineOptions options = lossy_options(codec, SchedulePolicy::direct);
    options.piece_bytes = 128 * 1024;
    Cluster cluster({.ranks = 4, .engine = options});
    Workload workload(problem, false);
    for (int rank = 0; rank < 4; ++rank) EXPECT_TRUE(workload.try_submit(cluster, rank));
    EXPECT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
    return static_cast<double>(cluster.payload_sent(0));
  };
  const double exact = sent(compression::CodecId::none);
  EXPECT_NEAR(exact, 2.0 * 3 / 4 * 400000 * 4, 4096);
  EXPECT_LT(sent(compression::CodecId::fp16), exact / 1.95);
  EXPECT_LT(sent(compression::CodecId::int8), exact / 3.85);
}

}  // namespace
}  // namespace thinwire::collectives::testing
