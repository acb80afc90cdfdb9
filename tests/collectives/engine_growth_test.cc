// How the error of a compressed sum grows with the number of ranks, for each schedule: measured
// next to what theory says of uncorrelated contributions (docs/numerics.md). Prints the table.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "collectives/schedules/exchange.h"
#include "compression/codec.h"
#include "tests/collectives/workload.h"

namespace thinwire::collectives::testing {
namespace {

constexpr std::size_t kCount = 65536;

struct Growth {
  const char* name;
  SchedulePolicy schedule;
  // Squared error of the sum relative to its own square; `one` is that of one encoding.
  double (*predicted)(int ranks, double one);
  int ranks_per_host = 1;
};

// Each encoding of a partial sum of m out of n contributions adds m/n, the owner's last one 1; in a
// long ring the errors of earlier hops are encoded too.
double ring(int n, double one) {
  double error = 0;
  for (int m = 1; m <= n; ++m) error += one * (m + error);
  return error / n;
}
double direct(int n, double one) { return one * (2 - 1.0 / n); }
// Each contribution is encoded once, the sum never.
double exchange(int n, double one) { return n <= kMaxExchangeRanks ? one : direct(n, one); }
double tree(int n, double one) { return one * (1 + std::log2(n) / 2); }
// The most even p x q of a power of two.
double grid(int n, double one) {
  const int p = 1 << (static_cast<int>(std::log2(n)) / 2);
  return one * (p + n / p) / 2.0;
}

// Contributions inside the host but the carrier's own, the hosts' sums but the owner's, the sum.
double hierarchical(int ranks_per_host, int n, double one) {
  return one * (3 - 1.0 / ranks_per_host - static_cast<double>(ranks_per_host) / n);
}
double hosts_of_2(int n, double one) { return hierarchical(2, n, one); }
double hosts_of_4(int n, double one) { return hierarchical(4, n, one); }
double hosts_of_8(int n, double one) { return hierarchical(8, n, one); }

constexpr Growth kGrowths[] = {{"ring", SchedulePolicy::ring, ring},
                               {"grid", SchedulePolicy::grid, grid},
                               {"tree", SchedulePolicy::tree, tree},
                               {"direct", SchedulePolicy::direct, direct},
                               {"exchange", SchedulePolicy::exchange, exchange},
                               {"hier x2", SchedulePolicy::hierarchical, hosts_of_2, 2},
                               {"hier x4", SchedulePolicy::hierarchical, hosts_of_4, 4},
                               {"hier x8", SchedulePolicy::hierarchical, hosts_of_8, 8}};

Layout hosts_of(int ranks_per_host, int ranks) {
  std::vector<std::uint64_t> hosts;
  for (int rank = 0; rank < ranks; ++rank) {
    hosts.push_back(static_cast<std::uint64_t>(rank / ranks_per_host));
  }
  return make_layout(hosts);
}

double relative_rms(const std::vector<double>& got, const std::vector<double>& want) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  return std::sqrt(error / norm);
}

// Of one encoding.
double epsilon(compression::CodecId id, const Bytes& input) {
  const compression::Codec& codec = compression::codec(id);
  Bytes wire(codec.max_encoded_bytes(kCount, DataType::float32)), decoded(input.size());
  const std::size_t bytes = codec.encode(input.data(), DataType::float32, kCount, wire.data());
  EXPECT_TRUE(codec.decode(wire.data(), bytes, DataType::float32, kCount, decoded.data()).ok());
  return relative_rms(to_doubles(DataType::float32, decoded), to_doubles(DataType::float32, input));
}

double measured(compression::CodecId id, const Growth& growth, int ranks, double& one) {
  EngineOptions options;
  options.policy = compression::Policy(compression::CodecSpec{.id = id});
  options.schedule = growth.schedule;
  options.layout = hosts_of(growth.ranks_per_host, ranks);
  options.feedback.mode = FeedbackMode::off;
  Problem problem;
  problem.count = kCount;
  fill_inputs(problem, ranks, 77);
  one = epsilon(id, problem.inputs[0]);
  std::vector<double> sums(kCount);
  for (const Bytes& input : problem.inputs) {
    const std::vector<double> values = to_doubles(problem.type, input);
    for (std::size_t i = 0; i < kCount; ++i) sums[i] += values[i];
  }
  Cluster cluster({.ranks = ranks, .engine = options});
  Workload workload(problem, false);
  for (int rank = 0; rank < ranks; ++rank) EXPECT_TRUE(workload.try_submit(cluster, rank));
  EXPECT_TRUE(cluster.run_until([&] { return workload.is_over_everywhere(cluster); }));
  return relative_rms(to_doubles(problem.type, workload.output(0)), sums);
}

class ErrorGrowth : public ::testing::TestWithParam<compression::CodecId> {};

TEST_P(ErrorGrowth, IsWithinTenPercentOfTheory) {
  std::printf("%-9s %-8s %5s %12s %12s\n", "codec", "schedule", "ranks", "measured", "predicted");
  for (const Growth& growth : kGrowths) {
    for (int ranks = std::max(2, growth.ranks_per_host); ranks <= 64; ranks *= 2) {
      double one = 0;
      const double error = measured(GetParam(), growth, ranks, one);
      const double predicted = std::sqrt(growth.predicted(ranks, one * one));
      std::printf("%-9s %-8s %5d %12.3e %12.3e\n",
                  std::string(compression::name_of(GetParam())).c_str(), growth.name, ranks, error,
                  predicted);
      EXPECT_NEAR(error / predicted, 1, 0.1) << growth.name << ", " << ranks << " ranks";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, ErrorGrowth,
                         ::testing::Values(compression::CodecId::int8, compression::CodecId::int4,
                                           compression::CodecId::fp8_e4m3));

}  // namespace
}  // namespace thinwire::collectives::testing
