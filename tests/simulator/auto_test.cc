// What auto takes, by the cost model, against the best of what it may take, by the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "collectives/candidates.h"
#include "collectives/staging.h"
#include "simulator/cluster.h"
#include "simulator/simulate.h"

namespace thinwire::simulator {
namespace {

using collectives::Arithmetic;
using collectives::Candidate;
using collectives::ScheduleKind;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

// 10 Gbit/s Ethernet as built_in_costs() has it.
Cluster ethernet(int hosts, int ranks_per_host) {
  Cluster cluster;
  cluster.hosts = hosts;
  cluster.ranks_per_host = ranks_per_host;
  cluster.rail_bytes_per_s = 1.17e9;
  cluster.local_bytes_per_s = 1.5e9;
  cluster.latency_s = 30e-6;
  cluster.spine_latency_s = 20e-6;
  cluster.local_latency_s = 15e-6;
  cluster.fan_in = 1.1;
  cluster.speeds = {.message_s = 4e-6,
                    .copy_bytes_per_s = 8e9,
                    .reduce_bytes_per_s = 6e9,
                    .encode_bytes_per_s = 5.2e9,
                    .decode_bytes_per_s = 6.6e9};
  return cluster;
}

// The same with hundredfold faster links and a tenth of their latency.
Cluster fast(int hosts, int ranks_per_host) {
  Cluster cluster = ethernet(hosts, ranks_per_host);
  cluster.rail_bytes_per_s = 12e9;
  cluster.local_bytes_per_s = 10e9;
  cluster.latency_s = 4e-6;
  cluster.local_latency_s = 1e-6;
  cluster.speeds.message_s = 1e-6;
  return cluster;
}

struct Case {
  const char* name;
  Cluster (*cluster)(int hosts, int ranks_per_host);
  bool compressed;
};

collectives::EngineOptions options_of(const Case& which, const Cluster& cluster) {
  collectives::EngineOptions options;
  options.costs = costs_of(cluster);
  options.piece_bytes = 0;
  if (which.compressed) {
    options.policy = compression::Policy(compression::CodecSpec{.id = compression::CodecId::int8});
  }
  return options;
}

double simulated_s(const Case& which, const Cluster& cluster, const Candidate& candidate,
                   std::size_t bytes) {
  const collectives::Layout layout = layout_of(cluster);
  Workload workload;
  workload.schedule = candidate.kind;
  workload.count = bytes / 4;
  workload.piece_bytes = bounded_piece_bytes({candidate.kind, candidate.piece_bytes}, layout);
  if (which.compressed) {
    workload.arithmetic = Arithmetic::lossy_native;
    workload.wire_bytes_per_element.fill(1.011);
  }
  const auto outcome = simulate(cluster, workload);
  EXPECT_TRUE(outcome.ok()) << outcome.status().text();
  return outcome.ok() ? outcome.value().seconds : 0;
}

struct Verdict {
  double taken_s = 0;
  double best_s = 0;
  ScheduleKind taken{};
  ScheduleKind best{};
  std::string table;
};

// Every schedule that may be taken is tried with the pieces that auto gives it.
Verdict judge(const Case& which, const Cluster& cluster, std::size_t bytes) {
  const auto options = options_of(which, cluster);
  const Arithmetic arithmetic = which.compressed ? Arithmetic::lossy_native : Arithmetic::native;
  const auto all = candidates(options, layout_of(cluster), arithmetic, bytes);
  Verdict verdict;
  verdict.taken = best_of(all).kind;
  verdict.best_s = 1e9;
  for (const Candidate& candidate : all) {
    if (*candidate.refused != '\0') continue;
    const double seconds = simulated_s(which, cluster, candidate, bytes);
    if (candidate.kind == verdict.taken) verdict.taken_s = seconds;
    if (seconds < verdict.best_s) {
      verdict.best_s = seconds;
      verdict.best = candidate.kind;
    }
    char line[120];
    std::snprintf(line, sizeof line, "\n    %-20s %10.1f us, predicted %10.1f us, pieces %zu",
                  std::string(name_of(candidate.kind)).c_str(), seconds * 1e6,
                  candidate.prediction.seconds * 1e6, candidate.piece_bytes);
    verdict.table += line;
  }
  return verdict;
}

class Automatic : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Networks, Automatic,
                         testing::Values(Case{"ethernet", ethernet, false},
                                         Case{"ethernet_int8", ethernet, true},
                                         Case{"fast", fast, false}, Case{"fast_int8", fast, true}),
                         [](const auto& network) { return std::string(network.param.name); });

// Within 10 %, or 30 us, of the best.
TEST_P(Automatic, Choice_IsNearlyTheBest) {
  const std::vector<std::pair<int, int>> shapes{{2, 1},  {3, 1},  {4, 1},  {7, 1}, {8, 1},
                                                {16, 1}, {32, 1}, {64, 1}, {2, 2}, {4, 2},
                                                {2, 8},  {8, 4},  {4, 8},  {8, 8}};
  double worst = 1;
  for (const auto& [hosts, each] : shapes) {
    const Cluster cluster = GetParam().cluster(hosts, each);
    for (std::size_t bytes = 4 * kKiB; bytes <= 256 * kMiB; bytes *= 4) {
      const Verdict verdict = judge(GetParam(), cluster, bytes);
      const double ratio = verdict.taken_s / verdict.best_s;
      const bool near = ratio <= 1.1 || verdict.taken_s - verdict.best_s <= 30e-6;
      EXPECT_TRUE(near) << GetParam().name << ", " << hosts << " hosts of " << each << ", "
                        << bytes / kKiB << " KiB: " << name_of(verdict.taken) << " is " << ratio
                        << " times " << name_of(verdict.best) << verdict.table;
      worst = std::max(worst, ratio);
    }
  }
  std::printf("worst choice: %.3f times the best\n", worst);
}

}  // namespace
}  // namespace thinwire::simulator
