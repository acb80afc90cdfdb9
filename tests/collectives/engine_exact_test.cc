// Collectives without a codec: bit-equal to the reference, whatever the type, op, schedule, size
// and number of ranks.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/collectives/workload.h"

namespace thinwire::collectives::testing {
namespace {

EngineOptions small_pieces(SchedulePolicy schedule) {
  EngineOptions options;
  options.schedule = schedule;
  options.piece_bytes = 4096;
  options.max_tiles = 4;
  return options;
}

constexpr SchedulePolicy kSchedules[] = {SchedulePolicy::ring, SchedulePolicy::direct,
                                         SchedulePolicy::grid, SchedulePolicy::hierarchical,
                                         SchedulePolicy::tree, SchedulePolicy::exchange};
constexpr Collective kCollectives[] = {Collective::all_reduce, Collective::all_gather,
                                       Collective::reduce_scatter};

// Vectors of about `count` elements; the pieces of the window collectives are uneven, some empty.
Problem make_problem(Collective collective, int ranks, std::size_t count, DataType type,
                     ReduceOp op, std::uint64_t seed) {
  Problem problem;
  problem.collective = collective;
  problem.type = type;
  problem.op = op;
  if (collective == Collective::all_reduce) {
    problem.count = count;
  } else {
    std::mt19937_64 random(seed);
    for (int rank = 0; rank < ranks; ++rank) {
      const std::size_t average = count / static_cast<std::size_t>(ranks);
      problem.piece_counts.push_back(random() % 4 == 0 ? 0 : random() % (2 * average + 2));
    }
  }
  fill_inputs(problem, ranks, seed);
  return problem;
}

class EngineExact : public ::testing::TestWithParam<int> {};

TEST_P(EngineExact, AnySizeAndPlace_MatchesReference) {
  const int ranks = GetParam();
  for (const SchedulePolicy schedule : kSchedules) {
    EngineOptions options = small_pieces(schedule);
    options.layout = scattered_layout(ranks);
    Cluster cluster({.ranks = ranks, .engine = options, .seed = 7});
    for (const Collective collective : kCollectives) {
      std::uint64_t seed = 100;
      for (const std::size_t count : {0, 1, 257, 5003, 40961}) {
        if (ranks > 17 && count != 5003) continue;
        for (const bool in_place : {false, true}) {
          const Problem problem =
              make_problem(collective, ranks, count, DataType::float32, ReduceOp::sum, ++seed);
          expect_matches_reference(cluster, options, problem, in_place);
        }
      }
    }
    for (int rank = 0; rank < ranks; ++rank) EXPECT_TRUE(cluster.engine(rank)->idle());
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EngineExact,
                         ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                                           17, 64));

TEST(EngineTypes, EveryTypeAndOp_MatchesReference) {
  for (const int ranks : {2, 5}) {
    for (const SchedulePolicy schedule : kSchedules) {
      EngineOptions options = small_pieces(schedule);
      options.layout = scattered_layout(ranks);
      Cluster cluster({.ranks = ranks, .engine = options, .seed = 3});
      for (int type = 0; type < kDataTypeCount; ++type) {
        for (int op = 0; op < kReduceOpCount; ++op) {
          for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter}) {
            const Problem problem =
                make_problem(collective, ranks, 7001, static_cast<DataType>(type),
                             static_cast<ReduceOp>(op), static_cast<std::uint64_t>(type * 4 + op));
            expect_matches_reference(cluster, options, problem, false);
            expect_matches_reference(cluster, options, problem, true);
          }
        }
      }
    }
  }
}

// Half a unit in the last place, relative.
double rounding(DataType type) {
  switch (type) {
    case DataType::float64:
      return std::ldexp(1.0, -53);
    case DataType::float32:
      return std::ldexp(1.0, -24);
    case DataType::float16:
      return std::ldexp(1.0, -11);
    case DataType::bfloat16:
      return std::ldexp(1.0, -8);
    default:
      return 0;
  }
}

TEST(EngineTypes, FloatSums_AreWithinTheRoundingBound) {
  constexpr int kRanks = 9;
  for (const SchedulePolicy schedule : kSchedules) {
    const EngineOptions options = small_pieces(schedule);
    Cluster cluster({.ranks = kRanks, .engine = options});
    for (const DataType type :
         {DataType::float64, DataType::float32, DataType::float16, DataType::bfloat16}) {
      const Problem problem =
          make_problem(Collective::all_reduce, kRanks, 10007, type, ReduceOp::sum, 5);
      Workload workload(problem, false);
      for (int rank = 0; rank < kRanks; ++rank) ASSERT_TRUE(workload.try_submit(cluster, rank));
      ASSERT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
      std::vector<double> sums(problem.count), sizes(problem.count);
      for (const Bytes& input : problem.inputs) {
        const std::vector<double> values = to_doubles(type, input);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          sums[i] += values[i];
          sizes[i] += std::abs(values[i]);
        }
      }
      // Direct sums 16-bit types in float32 and rounds once; a ring rounds at each hop.
      const bool once = schedule == SchedulePolicy::direct && element_bytes(type) == 2;
      const double roundings = once ? 1.01 : kRanks;
      const std::vector<double> got = to_doubles(type, workload.output(0));
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const double bound = once ? std::abs(sums[i]) + 1e-3 * sizes[i] : sizes[i];
        ASSERT_LE(std::abs(got[i] - sums[i]), roundings * rounding(type) * bound)
            << name_of(type) << " element " << i;
      }
    }
  }
}

TEST(EngineQueue, SixtyFourRequestsInFlight_AllMatch) {
  constexpr int kRanks = 4;
  for (const SchedulePolicy schedule : {SchedulePolicy::automatic, SchedulePolicy::ring}) {
    const EngineOptions options = small_pieces(schedule);
    Cluster cluster({.ranks = kRanks, .engine = options, .seed = 11});
    std::vector<Problem> problems;
    std::vector<std::unique_ptr<Workload>> workloads;
    for (std::uint64_t i = 0; i < 64; ++i) {
      problems.push_back(make_problem(kCollectives[i % 3], kRanks, (i * 977) % 9000,
                                      i % 5 == 0 ? DataType::bfloat16 : DataType::float32,
                                      ReduceOp::sum, i));
      workloads.push_back(std::make_unique<Workload>(problems.back(), i % 2 == 0));
    }
    // Ranks submit at their own pace, while others are far ahead.
    std::vector<std::size_t> next(kRanks, 0);
    ASSERT_TRUE(cluster.run_until([&] {
      const auto rank = static_cast<int>(cluster.random()() % kRanks);
      std::size_t& index = next[static_cast<std::size_t>(rank)];
      if (index < workloads.size() && workloads[index]->try_submit(cluster, rank)) ++index;
      bool over = true;
      for (auto& workload : workloads) over = workload->is_over_everywhere(cluster) && over;
      return over;
    }));
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      EXPECT_EQ(workloads[i]->compare(reference_outputs(problems[i], options)), "") << i;
    }
  }
}

TEST(EngineQueue, OutOfRequests_WouldBlockAndTakesNothing) {
  EngineOptions options = small_pieces(SchedulePolicy::direct);
  options.max_requests = 2;
  Cluster cluster({.ranks = 2, .engine = options});
  const Problem problem =
      make_problem(Collective::all_reduce, 2, 1000, DataType::float32, ReduceOp::sum, 1);
  Workload first(problem, false), second(problem, false), third(problem, false);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(first.try_submit(cluster, rank));
    EXPECT_TRUE(second.try_submit(cluster, rank));
    EXPECT_FALSE(third.try_submit(cluster, rank));
  }
  ASSERT_TRUE(cluster.run_until([&] { return first.is_over_everywhere(cluster); }));
  for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(third.try_submit(cluster, rank));
  ASSERT_TRUE(cluster.run_until(
      [&] { return second.is_over_everywhere(cluster) && third.is_over_everywhere(cluster); }));
  EXPECT_EQ(third.compare(reference_outputs(problem, options)), "");
}

TEST(EngineQueue, ZeroCount_IsDoneAtOnce) {
  Cluster cluster({.ranks = 3, .engine = small_pieces(SchedulePolicy::automatic)});
  const Problem problem =
      make_problem(Collective::all_reduce, 3, 0, DataType::float32, ReduceOp::sum, 1);
  Workload workload(problem, false);
  ASSERT_TRUE(workload.try_submit(cluster, 1));
  EXPECT_TRUE(workload.is_over(cluster, 1));
  EXPECT_TRUE(workload.status(1).ok());
}

TEST(EngineQueue, OneRankCallsLate_IsNoError) {
  const EngineOptions options = small_pieces(SchedulePolicy::automatic);
  Cluster cluster({.ranks = 3, .engine = options, .window_bytes = 8192});
  const Problem problem =
      make_problem(Collective::all_reduce, 3, 60000, DataType::float32, ReduceOp::sum, 1);
  Workload workload(problem, false);
  ASSERT_TRUE(workload.try_submit(cluster, 0));
  ASSERT_TRUE(workload.try_submit(cluster, 2));
  for (int i = 0; i < 3000; ++i) cluster.poll_some_rank();
  EXPECT_FALSE(workload.is_over(cluster, 0));
  ASSERT_TRUE(workload.try_submit(cluster, 1));
  ASSERT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
  EXPECT_EQ(workload.compare(reference_outputs(problem, options)), "");
}

TEST(EngineQueue, SeveralCommunicators_AtOnce_DoNotMix) {
  const EngineOptions options = small_pieces(SchedulePolicy::automatic);
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::vector<Problem> problems;
  std::vector<std::unique_ptr<Workload>> workloads;
  for (int i = 0; i < 6; ++i) {
    const int ranks = 2 + i;
    clusters.push_back(
        std::make_unique<Cluster>(ClusterOptions{.ranks = ranks, .engine = options}));
    problems.push_back(make_problem(Collective::all_reduce, ranks, 10000, DataType::float32,
                                    ReduceOp::max, static_cast<std::uint64_t>(i)));
    workloads.push_back(std::make_unique<Workload>(problems.back(), true));
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE(workloads.back()->try_submit(*clusters.back(), rank));
    }
  }
  for (std::size_t done = 0; done < workloads.size();) {
    done = 0;
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      clusters[i]->poll_some_rank();
      if (workloads[i]->is_over_everywhere(*clusters[i])) ++done;
    }
  }
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    EXPECT_EQ(workloads[i]->compare(reference_outputs(problems[i], options)), "");
  }
}

TEST(EngineCreate, MalformedOptionsGroupsAndCalls_AreRefused) {
  Log log;
  EXPECT_EQ(Engine::create({.max_requests = 0}, {}, log).status().code(), Code::invalid_argument);
  EXPECT_EQ(Engine::create({}, {1, 1, nullptr, {}}, log).status().code(), Code::invalid_argument);
  EXPECT_EQ(Engine::create({}, {0, 2, nullptr, {}}, log).status().code(), Code::invalid_argument);
  auto engine = Engine::create({}, {}, log);
  ASSERT_TRUE(engine.ok());
  Call call;
  call.count = 4;
  EXPECT_EQ(engine.value()->submit(call).status().code(), Code::invalid_argument);
  call.collective = Collective::all_gather;
  EXPECT_EQ(engine.value()->submit(call).status().code(), Code::invalid_argument);
  EXPECT_TRUE(engine.value()->idle());
}

}  // namespace
}  // namespace thinwire::collectives::testing
