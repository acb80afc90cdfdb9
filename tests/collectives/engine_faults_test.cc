// The Engine on a bad network: refusals, delays and reordering change nothing; death and corruption
// end every request, everywhere, with an error.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/collectives/workload.h"

namespace thinwire::collectives::testing {
namespace {

using transports::memory::Corruption;
using transports::memory::Faults;

constexpr SchedulePolicy kSchedules[] = {SchedulePolicy::ring, SchedulePolicy::direct};

EngineOptions options_for(SchedulePolicy schedule,
                          compression::CodecId codec = compression::CodecId::none) {
  EngineOptions options;
  options.schedule = schedule;
  options.policy = compression::Policy(compression::CodecSpec{.id = codec});
  options.piece_bytes = 2048;
  options.max_tiles = 5;
  return options;
}

Problem all_reduce(int ranks, std::size_t count, std::uint64_t seed) {
  Problem problem;
  problem.count = count;
  fill_inputs(problem, ranks, seed);
  return problem;
}

// Several collectives in flight at once under `faults`; all must match the reference.
void expect_unharmed(const Faults& faults, std::size_t window_bytes, int max_sends) {
  constexpr int kRanks = 5;
  for (const SchedulePolicy schedule : kSchedules) {
    for (const auto codec : {compression::CodecId::none, compression::CodecId::int8}) {
      const EngineOptions options = options_for(schedule, codec);
      Cluster cluster({.ranks = kRanks,
                       .engine = options,
                       .window_bytes = window_bytes,
                       .max_sends = max_sends,
                       .seed = faults.seed});
      cluster.fabric().set_faults(faults);
      std::vector<Problem> problems;
      std::vector<std::unique_ptr<Workload>> workloads;
      for (std::uint64_t i = 0; i < 4; ++i) {
        problems.push_back(all_reduce(kRanks, 11000 + i, i));
        workloads.push_back(std::make_unique<Workload>(problems.back(), i % 2 == 0));
        for (int rank = 0; rank < kRanks; ++rank) {
          ASSERT_TRUE(workloads.back()->try_submit(cluster, rank));
        }
      }
      ASSERT_TRUE(cluster.run_until([&] {
        bool over = true;
        for (auto& workload : workloads) over = workload->is_over_everywhere(cluster) && over;
        return over;
      }));
      for (std::size_t i = 0; i < workloads.size(); ++i) {
        EXPECT_EQ(workloads[i]->compare(reference_outputs(problems[i], options)), "");
      }
    }
  }
}

constexpr std::size_t kWide = std::size_t{4} << 20;

TEST(EngineFaults, RefusedPosts_AreRetriedInOrder) {
  for (const int every : {2, 3, 7}) expect_unharmed({.refuse_every = every}, kWide, 256);
}

TEST(EngineFaults, FewSendsAndANarrowWindow_DoNotDeadlock) {
  expect_unharmed({}, 2048 + 512, 2);
  expect_unharmed({.refuse_every = 2}, 2048 + 512, 3);
}

TEST(EngineFaults, DelayedMessages_ChangeNothing) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    expect_unharmed({.delay_polls = 20, .seed = seed}, kWide, 256);
  }
}

TEST(EngineFaults, ReorderedMessages_ChangeNothing) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    expect_unharmed({.delay_polls = 9, .reorder = true, .seed = seed}, kWide, 256);
    expect_unharmed({.refuse_every = 3, .delay_polls = 9, .reorder = true, .seed = seed}, kWide, 8);
  }
}

TEST(EngineFaults, NothingArrives_BeforeItsTime) {
  ManualClock clock;
  const EngineOptions options = options_for(SchedulePolicy::direct);
  Cluster cluster({.ranks = 3, .engine = options});
  cluster.fabric().set_faults({.clock = &clock, .delay_ns = 1000});
  const Problem problem = all_reduce(3, 1000, 1);
  Workload workload(problem, false);
  for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(workload.try_submit(cluster, rank));
  for (int i = 0; i < 500; ++i) cluster.poll_some_rank();
  EXPECT_FALSE(workload.is_over(cluster, 0));
  ASSERT_TRUE(cluster.run_until([&] {
    clock.advance_ns(100);
    return workload.is_over_everywhere(cluster);
  }));
  EXPECT_EQ(workload.compare(reference_outputs(problem, options)), "");
}

TEST(EngineFaults, PeerDiesAtAnyMoment_EverySurvivorsRequestsEndInPeerLost) {
  for (const SchedulePolicy schedule : kSchedules) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      const int ranks = 2 + static_cast<int>(seed % 6);
      Cluster cluster({.ranks = ranks, .engine = options_for(schedule), .seed = seed});
      const Problem problem = all_reduce(ranks, 30000, seed);
      std::vector<std::unique_ptr<Workload>> workloads;
      for (int i = 0; i < 3; ++i) {
        workloads.push_back(std::make_unique<Workload>(problem, false));
        for (int rank = 0; rank < ranks; ++rank) {
          ASSERT_TRUE(workloads.back()->try_submit(cluster, rank));
        }
      }
      const int victim = static_cast<int>(seed) % ranks;
      const std::uint64_t moment = cluster.random()() % 60;
      for (std::uint64_t i = 0; i < moment; ++i) cluster.poll_some_rank();
      cluster.kill(victim);
      ASSERT_TRUE(cluster.run_until([&] {
        bool over = true;
        for (auto& workload : workloads) over = workload->is_over_everywhere(cluster) && over;
        return over;
      })) << "seed "
          << seed;
      for (int rank = 0; rank < ranks; ++rank) {
        if (rank == victim) continue;
        // What was finished before stays good; the last of three never is.
        EXPECT_EQ(workloads.back()->status(rank).code(), Code::peer_lost);
        EXPECT_EQ(cluster.engine(rank)->poll().code(), Code::peer_lost);
        Workload later(problem, false);
        ASSERT_TRUE(later.try_submit(cluster, rank));
        EXPECT_EQ(later.status(rank).code(), Code::peer_lost);
      }
    }
  }
}

TEST(EngineFaults, OneLinkDropped_EndsEveryRanksRequest) {
  for (const SchedulePolicy schedule : kSchedules) {
    Cluster cluster({.ranks = 5, .engine = options_for(schedule)});
    const Problem problem = all_reduce(5, 30000, 1);
    Workload workload(problem, false);
    for (int rank = 0; rank < 5; ++rank) ASSERT_TRUE(workload.try_submit(cluster, rank));
    cluster.fabric().drop_link(1, 2);
    ASSERT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
    for (int rank = 0; rank < 5; ++rank) {
      EXPECT_EQ(workload.status(rank).code(), Code::peer_lost) << "rank " << rank;
    }
  }
}

TEST(EngineFaults, CorruptedMessage_IsAnErrorOnEveryRank) {
  for (const SchedulePolicy schedule : kSchedules) {
    for (const auto codec :
         {compression::CodecId::none, compression::CodecId::fp16, compression::CodecId::int8}) {
      for (const std::uint64_t message : {1, 7, 23}) {
        Cluster cluster({.ranks = 3, .engine = options_for(schedule, codec)});
        cluster.fabric().set_faults(
            {.corrupt_message = message, .corruption = Corruption::drop_last_byte});
        const Problem problem = all_reduce(3, 20000, 1);
        Workload workload(problem, false);
        for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(workload.try_submit(cluster, rank));
        ASSERT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
        int failed = 0;
        for (int rank = 0; rank < 3; ++rank) {
          if (workload.status(rank).ok()) continue;
          ++failed;
          EXPECT_EQ(workload.status(rank).code(), Code::peer_lost);
        }
        EXPECT_EQ(failed, 3) << "message " << message;
      }
    }
  }
}

TEST(EngineFaults, DamagedEncoding_IsRefusedByTheCodec) {
  for (const auto codec : {compression::CodecId::fp16, compression::CodecId::int8}) {
    Cluster cluster({.ranks = 2, .engine = options_for(SchedulePolicy::direct, codec)});
    cluster.fabric().set_faults({.corrupt_message = 3, .corruption = Corruption::flip_first_byte});
    const Problem problem = all_reduce(2, 20000, 1);
    Workload workload(problem, false);
    for (int rank = 0; rank < 2; ++rank) ASSERT_TRUE(workload.try_submit(cluster, rank));
    ASSERT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
    EXPECT_EQ(workload.status(0).code(), Code::peer_lost);
    EXPECT_EQ(workload.status(1).code(), Code::peer_lost);
  }
}

TEST(EngineFaults, Abort_WithPostsOutstanding_LeavesNothingBehind) {
  for (const SchedulePolicy schedule : kSchedules) {
    Cluster cluster({.ranks = 4, .engine = options_for(schedule), .seed = 5});
    const Problem problem = all_reduce(4, 30000, 1);
    Workload workload(problem, false);
    for (int rank = 0; rank < 4; ++rank) ASSERT_TRUE(workload.try_submit(cluster, rank));
    for (int i = 0; i < 20; ++i) cluster.poll_some_rank();
    EXPECT_FALSE(workload.is_over_everywhere(cluster));
  }  // destroyed here: nothing to assert but the sanitizers
}

}  // namespace
}  // namespace thinwire::collectives::testing
