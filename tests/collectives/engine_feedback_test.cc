// Error feedback, top-k without it, stale tails and rules by level, through the Engine: whatever a
// rank knows or does not know of the tensor, all ranks end with the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/collectives/workload.h"

namespace thinwire::collectives::testing {
namespace {

constexpr int kRanks = 4;
constexpr std::size_t kCount = 20000;

compression::Policy policy(const char* text) {
  std::string complaint;
  auto parsed = compression::Policy::parse(text, complaint);
  EXPECT_TRUE(parsed.ok()) << complaint;
  return std::move(parsed).value();
}

EngineOptions options_for(const char* rules, SchedulePolicy schedule = SchedulePolicy::direct) {
  EngineOptions options;
  options.policy = policy(rules);
  options.schedule = schedule;
  options.piece_bytes = 8192;
  options.feedback.recurrences = 1;
  return options;
}

Problem problem_of(std::uint64_t seed, DataType type = DataType::float32) {
  Problem problem;
  problem.type = type;
  problem.count = kCount;
  fill_inputs(problem, kRanks, seed);
  return problem;
}

// One all-reduce in which `knowing` of the ranks, the first ones, know the tensor.
Bytes run(Cluster& cluster, const Problem& problem, int knowing, std::size_t valid = kCount) {
  Workload workload(problem, false);
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank < knowing) workload.set_tensor(rank, {.key = 42, .valid = valid});
    EXPECT_TRUE(workload.try_submit(cluster, rank));
  }
  EXPECT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_TRUE(workload.status(rank).ok()) << workload.status(rank).text();
    EXPECT_EQ(hash_of(workload.output(rank)), hash_of(workload.output(0))) << "rank " << rank;
  }
  return workload.output(0);
}

std::vector<double> exact_sums(const Problem& problem) {
  std::vector<double> sums(problem.count);
  for (const Bytes& input : problem.inputs) {
    const std::vector<double> values = to_doubles(problem.type, input);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
  }
  return sums;
}

double rms_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares / static_cast<double>(a.size()));
}

// The error of the mean over `rounds` all-reduces of the same values.
double error_of_mean(const EngineOptions& options, int rounds, int knowing) {
  const Problem problem = problem_of(5);
  Cluster cluster({.ranks = kRanks, .engine = options});
  std::vector<double> mean(kCount);
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> output = to_doubles(problem.type, run(cluster, problem, knowing));
    for (std::size_t i = 0; i < kCount; ++i) mean[i] += output[i] / rounds;
  }
  return rms_difference(mean, exact_sums(problem));
}

class EngineFeedback : public ::testing::TestWithParam<SchedulePolicy> {};

TEST_P(EngineFeedback, KnownTensor_LosesNothingInTheLongRun) {
  for (const char* codec : {"int4", "topk:0.2"}) {
    EngineOptions options = options_for(codec, GetParam());
    options.feedback.topk_without = true;
    const double without = error_of_mean(options, 40, 0);
    const double with = error_of_mean(options, 40, kRanks);
    EXPECT_LT(with, without / 4) << codec;
    EXPECT_GT(with, 0) << codec << " lost nothing: was anything compressed?";
  }
}

TEST_P(EngineFeedback, TensorThatSomeRanksDoNotKnow_HarmsNoOne) {
  const EngineOptions options = options_for("topk:0.05", GetParam());
  const Problem problem = problem_of(5);
  Cluster cluster({.ranks = kRanks, .engine = options});
  for (int round = 0; round < 4; ++round) run(cluster, problem, 2);
}

INSTANTIATE_TEST_SUITE_P(Schedules, EngineFeedback,
                         ::testing::Values(SchedulePolicy::direct, SchedulePolicy::ring,
                                           SchedulePolicy::grid, SchedulePolicy::tree,
                                           SchedulePolicy::exchange));

TEST(EngineTopk, TensorNobodyKnows_TravelsExactly) {
  const EngineOptions options = options_for("topk:0.01");
  EngineOptions exact = options;
  exact.policy = {};
  const Problem problem = problem_of(7);
  Cluster cluster({.ranks = kRanks, .engine = options});
  EXPECT_TRUE(run(cluster, problem, 0) == reference_outputs(problem, exact)[0]);
}

TEST(EngineTopk, TensorIsCompressed_FromItsThirdAppearanceOn) {
  EngineOptions options = options_for("topk:0.01");
  options.feedback.recurrences = 3;
  const Problem problem = problem_of(7);
  Cluster cluster({.ranks = kRanks, .engine = options});
  std::vector<std::uint64_t> sent;
  for (int round = 0; round < 4; ++round) {
    const std::uint64_t before = cluster.payload_sent(0);
    run(cluster, problem, kRanks);
    sent.push_back(cluster.payload_sent(0) - before);
  }
  EXPECT_EQ(sent[0], sent[1]);
  EXPECT_LT(sent[2], sent[0] / 20);
  EXPECT_LT(sent[3], sent[0] / 20);
  const compression::ResidualStats stats = cluster.engine(0)->feedback();
  EXPECT_EQ(stats.misses, 2u);
  EXPECT_EQ(stats.hits, 2u);
  EXPECT_EQ(stats.bytes, kCount * sizeof(float));
  EXPECT_GT(stats.norm, 0);
}

TEST(EngineTopk, WithoutMemoryForResiduals_TravelsExactly) {
  EngineOptions options = options_for("topk:0.01");
  options.feedback.max_bytes = 0;
  EngineOptions exact = options;
  exact.policy = {};
  const Problem problem = problem_of(7);
  Cluster cluster({.ranks = kRanks, .engine = options});
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(run(cluster, problem, kRanks) == reference_outputs(problem, exact)[0]);
  }
}

TEST(EngineTail, StaleElements_TravelAsZerosAndDisturbNobody) {
  constexpr std::size_t kValid = kCount - 777;
  for (const char* codec : {"fp16", "bf16", "int8", "int4", "fp8-e4m3", "topk:0.05"}) {
    EngineOptions options = options_for(codec);
    options.feedback.mode = FeedbackMode::all;
    Problem clean = problem_of(9), poisoned = clean;
    const float poison[] = {std::numeric_limits<float>::quiet_NaN(), 3e38f,
                            std::numeric_limits<float>::infinity()};
    for (std::size_t i = kValid; i < kCount; ++i) {
      for (int rank = 0; rank < kRanks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        std::memset(clean.inputs[r].data() + i * sizeof(float), 0, sizeof(float));
        std::memcpy(poisoned.inputs[r].data() + i * sizeof(float), &poison[(i + r) % 3],
                    sizeof(float));
      }
    }
    Cluster one({.ranks = kRanks, .engine = options}), other({.ranks = kRanks, .engine = options});
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(run(one, poisoned, kRanks, kValid) == run(other, clean, kRanks, kValid))
          << codec << " round " << round;
    }
  }
}

TEST(EngineLevels, RulesByLevel_MatchTheReference) {
  const std::uint64_t hosts[] = {1, 1, 2, 3}, racks[] = {1, 1, 1, 2};
  for (const SchedulePolicy schedule :
       {SchedulePolicy::ring, SchedulePolicy::direct, SchedulePolicy::grid, SchedulePolicy::tree,
        SchedulePolicy::exchange}) {
    for (const char* rules :
         {"int8@rack", "int8@site", "int4@site,int8@rack", "none@host,fp16", "int8@host"}) {
      EngineOptions options = options_for(rules, schedule);
      options.layout = make_layout(hosts, racks);
      Cluster cluster({.ranks = kRanks, .engine = options});
      for (const DataType type : {DataType::float32, DataType::bfloat16}) {
        expect_matches_reference(cluster, options, problem_of(11, type), false);
        expect_matches_reference(cluster, options, problem_of(11, type), true);
      }
    }
  }
}

TEST(EngineLevels, LevelThatTheLayoutDoesNotHave_CompressesNothing) {
  const EngineOptions options = options_for("int8@site");
  EngineOptions exact = options;
  exact.policy = {};
  Cluster cluster({.ranks = kRanks, .engine = options});
  expect_matches_reference(cluster, exact, problem_of(11), false);
}

TEST(EngineNoise, StochasticRounding_IsTheSameFromRunToRunAndDiffersFromCallToCall) {
  const EngineOptions options = options_for("int8:sr");
  const Problem problem = problem_of(13);
  Cluster one({.ranks = kRanks, .engine = options, .seed = 1});
  Cluster other({.ranks = kRanks, .engine = options, .seed = 2});
  const Bytes first = run(one, problem, 0);
  EXPECT_TRUE(first == run(other, problem, 0));
  const Bytes second = run(one, problem, 0);
  EXPECT_FALSE(first == second);
  EXPECT_TRUE(second == run(other, problem, 0));
}

}  // namespace
}  // namespace thinwire::collectives::testing
