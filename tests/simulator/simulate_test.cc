// The simulation against what can be computed by hand.
#include "simulator/simulate.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "simulator/cluster.h"

namespace thinwire::simulator {
namespace {

using collectives::ScheduleKind;

constexpr double kRate = 1e9;
constexpr double kLatency = 10e-6;

Cluster switched(int hosts) {
  Cluster cluster;
  cluster.hosts = hosts;
  cluster.rail_bytes_per_s = kRate;
  cluster.latency_s = kLatency;
  return cluster;
}

// `elements_each` of float32 a rank, in one tile unless it is more than `piece_bytes`.
Workload all_reduce(ScheduleKind schedule, int ranks, std::size_t elements_each) {
  Workload workload;
  workload.schedule = schedule;
  workload.count = static_cast<std::size_t>(ranks) * elements_each;
  workload.piece_bytes = std::size_t{1} << 30;
  return workload;
}

Outcome run(const Cluster& cluster, const Workload& workload) {
  const Result<Outcome> outcome = simulate(cluster, workload);
  EXPECT_TRUE(outcome.ok()) << outcome.status().text();
  return outcome.ok() ? outcome.value() : Outcome{};
}

class Sizes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Sizes, testing::Values(2, 3, 4, 7, 16, 17, 64));

TEST_P(Sizes, Ring_OneTile_TakesItsStepsOneAfterAnother) {
  const int ranks = GetParam();
  const double piece_s = 4096 * 4 / kRate;
  const Outcome outcome = run(switched(ranks), all_reduce(ScheduleKind::ring, ranks, 4096));
  EXPECT_NEAR(outcome.seconds, 2 * (ranks - 1) * (piece_s + kLatency), 1e-9);
}

TEST_P(Sizes, Ring_ManyTiles_IsLimitedByTheLink) {
  const int ranks = GetParam();
  Workload workload = all_reduce(ScheduleKind::ring, ranks, 64 * 4096);
  workload.piece_bytes = 4096 * 4;
  const double bound = 2.0 * (ranks - 1) * 64 * 4096 * 4 / kRate;
  const Outcome outcome = run(switched(ranks), workload);
  EXPECT_GE(outcome.seconds, bound);
  EXPECT_LE(outcome.seconds, bound + 2 * ranks * (4096 * 4 / kRate + kLatency));
}

TEST_P(Sizes, Direct_OneTile_TakesTwoSteps) {
  const int ranks = GetParam();
  const double step_s = (ranks - 1) * 4096 * 4 / kRate + kLatency;
  const Outcome outcome = run(switched(ranks), all_reduce(ScheduleKind::direct, ranks, 4096));
  // The first sums may go out while later ones are still awaited.
  EXPECT_GE(outcome.seconds, 2 * step_s - kLatency - 1e-9);
  EXPECT_LE(outcome.seconds, 2 * step_s + 1e-9);
}

TEST_P(Sizes, EverySchedule_OnEveryNumberOfRanks_SendsEachByteOnceAndReceivesIt) {
  const int ranks = GetParam();
  for (const ScheduleKind kind : collectives::kScheduleKinds) {
    const Outcome outcome = run(switched(ranks), all_reduce(kind, ranks, 512));
    const double copies = kind == ScheduleKind::exchange && ranks <= 8 ? ranks : 2;
    const double expected = copies * (ranks - 1) * 512 * 4 * ranks;
    EXPECT_NEAR(outcome.network_bytes, outcome.received_bytes, 1e-3) << outcome.schedule;
    EXPECT_NEAR(outcome.network_bytes, expected, 1e-3) << outcome.schedule;
  }
}

// Where ranks add or send in another order than the one that stands for them, they are taken to
// follow it: simulate.h.
TEST_P(Sizes, Symmetry_EverySchedule_ChangesLittleAndTheRingNothing) {
  const int ranks = GetParam();
  Cluster cluster = switched(ranks);
  cluster.speeds = {.message_s = 1e-6, .reduce_bytes_per_s = 5e9};
  for (const ScheduleKind kind : collectives::kScheduleKinds) {
    Workload workload = all_reduce(kind, ranks, 1024);
    const Outcome folded = run(cluster, workload);
    workload.use_symmetry = false;
    const Outcome full = run(cluster, workload);
    EXPECT_EQ(full.simulated_ranks, ranks);
    EXPECT_EQ(folded.messages, full.messages) << folded.schedule;
    EXPECT_NEAR(folded.network_bytes, full.network_bytes, 1e-3) << folded.schedule;
    const double tolerance = kind == ScheduleKind::ring ? 1e-9 : 0.12;
    EXPECT_NEAR(folded.seconds, full.seconds, tolerance * full.seconds) << folded.schedule;
  }
}

TEST(Symmetry, Ring_OnEqualHosts_IsRunByOneHost) {
  Cluster cluster = switched(8);
  cluster.ranks_per_host = 4;
  EXPECT_EQ(run(cluster, all_reduce(ScheduleKind::ring, 32, 256)).simulated_ranks, 4);
  cluster.hosts_per_rack = 2;
  EXPECT_EQ(run(cluster, all_reduce(ScheduleKind::ring, 32, 256)).simulated_ranks, 8);
}

TEST(Symmetry, Ring_With4096Ranks_TakesItsSteps) {
  const Outcome outcome = run(switched(4096), all_reduce(ScheduleKind::ring, 4096, 4096));
  EXPECT_EQ(outcome.simulated_ranks, 1);
  EXPECT_NEAR(outcome.seconds, 2 * 4095 * (4096 * 4 / kRate + kLatency), 1e-6);
}

// Four hosts in each of two racks exchange everything with everyone: each leaf must send, and take,
// what its hosts owe the other rack.
TEST(Spine, Direct_Oversubscribed_IsLimitedByTheLeavesUplinks) {
  Cluster cluster = switched(8);
  cluster.hosts_per_rack = 4;
  cluster.oversubscription = 4;
  const Outcome outcome = run(cluster, all_reduce(ScheduleKind::direct, 8, 1 << 20));
  const double piece = 4.0 * (1 << 20);
  const double leaf_bytes = 2 * 4 * 4 * piece;  // twice, from four hosts to four
  const double bound = leaf_bytes / kRate;      // 4 hosts' links / 4
  EXPECT_NEAR(outcome.spine_bytes, 2 * leaf_bytes, 1);
  EXPECT_GE(outcome.seconds, bound);
  // Beside the spine's, the first step begins and the last one ends with a piece within the rack.
  EXPECT_LE(outcome.seconds, 1.15 * bound);
}

// A ring crosses each leaf's uplink with one host's traffic, which it can carry.
TEST(Spine, Ring_Oversubscribed_IsNotSlower) {
  Cluster cluster = switched(8);
  cluster.hosts_per_rack = 4;
  const Workload workload = all_reduce(ScheduleKind::ring, 8, 1 << 16);
  const double without = run(cluster, workload).seconds;
  cluster.oversubscription = 4;
  EXPECT_NEAR(run(cluster, workload).seconds, without, 0.01 * without);
}

TEST(Hosts, Ring_FollowingHosts_SendsOneRanksTrafficOverEachLink) {
  Cluster cluster = switched(4);
  cluster.ranks_per_host = 2;
  cluster.local_bytes_per_s = 100 * kRate;
  cluster.cyclic = true;
  Workload workload = all_reduce(ScheduleKind::ring, 8, 1 << 16);
  const double per_rank = 2.0 * 7 * 4 * (1 << 16);
  EXPECT_NEAR(run(cluster, workload).host_out_bytes, per_rank, 1);
  workload.ignore_hosts = true;
  EXPECT_NEAR(run(cluster, workload).host_out_bytes, 2 * per_rank, 1);
}

TEST(Codec, Direct_QuarterTheBytes_TakesAQuarterOfTheLink) {
  Workload workload = all_reduce(ScheduleKind::direct, 4, 1 << 16);
  const Outcome exact = run(switched(4), workload);
  workload.arithmetic = collectives::Arithmetic::lossy_native;
  workload.wire_bytes_per_element = {4, 1, 1};
  EXPECT_NEAR(run(switched(4), workload).network_bytes, exact.network_bytes / 4, 1e-3);
}

TEST(Pieces, ShortVector_MostPiecesEmpty_IsReducedOverItsOwnersOnly) {
  Workload workload = all_reduce(ScheduleKind::direct, 16, 16);  // one block: rank 0's
  const Outcome outcome = run(switched(16), workload);
  EXPECT_EQ(outcome.messages, 2u * 15);
}

TEST(Simulation, SameInput_SameOutcome) {
  const Workload workload = all_reduce(ScheduleKind::tree, 13, 1000);
  EXPECT_EQ(run(switched(13), workload).seconds, run(switched(13), workload).seconds);
}

TEST(ClusterLimits, OutOfRange_IsNamed) {
  EXPECT_STREQ(complaint_about(switched(4)), "");
  EXPECT_STRNE(complaint_about(switched(1)), "");
  EXPECT_STRNE(complaint_about(switched(4097)), "");
  Cluster cluster = switched(4);
  cluster.oversubscription = 0.5;
  EXPECT_STRNE(complaint_about(cluster), "");
  cluster = switched(4);
  cluster.rail_bytes_per_s = 0;
  EXPECT_STRNE(complaint_about(cluster), "");
}

}  // namespace
}  // namespace thinwire::simulator
