// Every codec in every schedule on 1 to 17 ranks, for every element type, with and without
// feedback: all ranks end with the same bits, whatever order things happen in, and with those of
// the reference where that knows what is encoded.
#include <gtest/gtest.h>

#include "tests/collectives/workload.h"

namespace thinwire::collectives::testing {
namespace {

constexpr SchedulePolicy kSchedules[] = {SchedulePolicy::ring, SchedulePolicy::direct,
                                         SchedulePolicy::grid, SchedulePolicy::hierarchical,
                                         SchedulePolicy::tree, SchedulePolicy::exchange};
constexpr const char* kCodecs[] = {
    "none",      "fp16",    "bf16",    "int8",    "int4",           "fp8-e4m3",    "fp8-e5m2",
    "topk:0.05", "bf16:sr", "int8:sr", "int4:sr", "topk:0.05:fp16", "fp8-e4m3:sr", "fp8-e5m2:sr"};
constexpr DataType kTypes[] = {DataType::float32, DataType::float16, DataType::bfloat16};

// A tile and a bit of each piece: the last one ends within a block.
constexpr std::size_t kPieceElements = 300;
constexpr std::size_t kPieceBytes = 512;

EngineOptions options_for(const char* codec, SchedulePolicy schedule, int ranks) {
  EngineOptions options;
  options.policy = compression::Policy(compression::parse_codec(codec).value());
  options.schedule = schedule;
  options.layout = scattered_layout(ranks);
  options.piece_bytes = kPieceBytes;
  options.max_tiles = 4;
  options.feedback = {
      .mode = FeedbackMode::all, .max_bytes = 1 << 24, .recurrences = 1, .topk_without = true};
  return options;
}

Problem problem_of(Collective collective, DataType type, int ranks) {
  Problem problem;
  problem.collective = collective;
  problem.type = type;
  if (collective == Collective::all_reduce) {
    problem.count = kPieceElements * static_cast<std::size_t>(ranks) + 77;
  } else {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::size_t extra = static_cast<std::size_t>(rank);
      problem.piece_counts.push_back(rank % 3 == 1 ? 0 : kPieceElements + extra);
    }
  }
  fill_inputs(problem, ranks, 17 + static_cast<std::uint64_t>(type));
  return problem;
}

// Two groups of ranks that run the same collectives, their progress in different orders.
class Twins {
 public:
  Twins(const EngineOptions& options, int ranks)
      : options_(options),
        one_({.ranks = ranks, .engine = options, .seed = 1}),
        other_({.ranks = ranks, .engine = options, .seed = 2}) {}

  // What both end with; `key` is 0 where nobody knows the tensor.
  std::vector<Bytes> run(const Problem& problem, std::uint64_t key) {
    std::vector<Bytes> outputs = run_on(one_, problem, key);
    EXPECT_TRUE(run_on(other_, problem, key) == outputs) << "differs from run to run";
    for (const Bytes& output : outputs) {
      if (problem.collective != Collective::reduce_scatter) {
        EXPECT_EQ(hash_of(output), hash_of(outputs[0])) << "ranks differ";
      }
    }
    return outputs;
  }

  bool stochastic() const { return options_.policy.rules()[0].codec.stochastic; }
  bool exact() const { return !options_.policy.compresses(); }
  const EngineOptions& options() const { return options_; }

 private:
  static std::vector<Bytes> run_on(Cluster& cluster, const Problem& problem, std::uint64_t key) {
    Workload workload(problem, false);
    for (int rank = 0; rank < problem.ranks(); ++rank) {
      if (key != 0) workload.set_tensor(rank, {.key = key, .valid = problem.count});
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

  const EngineOptions options_;
  Cluster one_;
  Cluster other_;
};

class EveryCodec : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    for (const DataType type : kTypes) {
      sums_.push_back(problem_of(Collective::all_reduce, type, GetParam()));
      scatters_.push_back(problem_of(Collective::reduce_scatter, type, GetParam()));
      gathers_.push_back(problem_of(Collective::all_gather, type, GetParam()));
    }
  }

  // Calls check(twins) for every codec in every schedule.
  template <class Check>
  void for_all(const Check& check) const {
    for (const char* const codec : kCodecs) {
      for (const SchedulePolicy schedule : kSchedules) {
        SCOPED_TRACE(std::string(codec) + ", schedule " +
                     std::to_string(static_cast<int>(schedule)));
        Twins twins(options_for(codec, schedule, GetParam()), GetParam());
        check(twins);
        if (HasFailure()) return;
      }
    }
  }

  std::vector<Problem> sums_, scatters_, gathers_;
};

TEST_P(EveryCodec, AllReduce_SameBitsOnAllRanksAndInAllRuns) {
  for_all([&](Twins& twins) {
    for (const Problem& problem : sums_) {
      SCOPED_TRACE(name_of(problem.type));
      const std::vector<Bytes> outputs = twins.run(problem, 0);
      if (!twins.stochastic()) {
        EXPECT_TRUE(outputs == reference_outputs(problem, twins.options()));
      }
    }
  });
}

TEST_P(EveryCodec, AllReduceWithFeedback_SameBitsOnAllRanksAndInAllRuns) {
  for_all([&](Twins& twins) {
    for (const Problem& problem : sums_) {
      SCOPED_TRACE(name_of(problem.type));
      const std::vector<Bytes> first = twins.run(problem, 42), second = twins.run(problem, 42);
      if (twins.exact() || GetParam() == 1) {
        EXPECT_TRUE(first == second);
      } else if (problem.type == DataType::float32) {  // others may round it away at the end
        EXPECT_FALSE(first == second) << "what the first run lost is in the second";
      }
    }
  });
}

TEST_P(EveryCodec, ReduceScatterAndAllGather_SameBitsInAllRuns) {
  for_all([&](Twins& twins) {
    for (const Problem& problem : scatters_) {
      SCOPED_TRACE(name_of(problem.type));
      const std::vector<Bytes> outputs = twins.run(problem, 0);
      if (!twins.stochastic()) {
        EXPECT_TRUE(outputs == reference_outputs(problem, twins.options()));
      }
    }
    const Problem& gather = gathers_[static_cast<std::size_t>(GetParam()) % gathers_.size()];
    const std::vector<Bytes> gathered = twins.run(gather, 0);
    Bytes expected;
    for (const Bytes& input : gather.inputs) {
      expected.insert(expected.end(), input.begin(), input.end());
    }
    EXPECT_TRUE(gathered[0] == expected) << "what is only gathered is never rounded";
  });
}

#ifdef __SANITIZE_ADDRESS__  // ten times as slow, and the memory is touched alike from 9 ranks on
INSTANTIATE_TEST_SUITE_P(Ranks, EveryCodec, ::testing::Values(1, 2, 3, 5, 8, 9));
#else
INSTANTIATE_TEST_SUITE_P(Ranks, EveryCodec, ::testing::Range(1, 18));
#endif

}  // namespace
}  // namespace thinwire::collectives::testing
