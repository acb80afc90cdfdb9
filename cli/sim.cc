#include <cstdio>
#include <set>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "collectives/schedules/grid.h"
#include "simulator/simulate.h"

namespace thinwire::cli {
namespace {

constexpr double kBytesPerGbit = 1e9 / 8;

int refuse(const std::string& what) {
  std::fprintf(stderr, "thinwire sim: %s\n", what.c_str());
  return 2;
}

simulator::Cluster cluster_of(const SimOptions& options) {
  simulator::Cluster cluster;
  cluster.hosts = options.hosts == 0 ? options.ranks : options.hosts;
  cluster.ranks_per_host = options.ranks / cluster.hosts;
  cluster.rails = options.rails;
  cluster.hosts_per_rack = options.racks == 1 ? 0 : cluster.hosts / options.racks;
  cluster.cyclic = options.cyclic;
  cluster.oversubscription = options.oversubscription;
  cluster.rail_bytes_per_s = options.gbit * kBytesPerGbit;
  cluster.local_bytes_per_s = options.local_gbit * kBytesPerGbit;
  cluster.latency_s = options.latency_us * 1e-6;
  cluster.spine_latency_s = options.spine_us * 1e-6;
  cluster.local_latency_s = options.local_us * 1e-6;
  cluster.speeds = {.message_s = options.message_us * 1e-6,
                    .copy_bytes_per_s = options.reduce_gbytes * 1e9,
                    .reduce_bytes_per_s = options.reduce_gbytes * 1e9,
                    .encode_bytes_per_s = options.encode_gbytes * 1e9,
                    .decode_bytes_per_s = options.decode_gbytes * 1e9};
  return cluster;
}

simulator::Workload workload_of(const SimOptions& options) {
  simulator::Workload workload;
  workload.grid = options.grid;
  workload.count = options.bytes / 4;
  workload.piece_bytes = options.piece_bytes;
  workload.ignore_hosts = options.ignore_hosts;
  workload.wire_bytes_per_element.fill(options.wire_bytes);
  if (options.wire_bytes < 4) workload.arithmetic = collectives::Arithmetic::lossy_native;
  return workload;
}

std::string complaint_about(const SimOptions& options) {
  const std::string wrong = complaint_about_groups(options.ranks, options.hosts, options.racks);
  if (!wrong.empty()) return wrong;
  if (!options.grid.empty() && !collectives::fits(options.grid, options.ranks)) {
    return "--grid: its sides must multiply to --ranks";
  }
  if (options.bytes < 4 || options.bytes > std::uint64_t{1} << 40) return "--size: 4 to 1T";
  if (options.piece_bytes < 1024 || options.piece_bytes > std::uint64_t{1} << 30) {
    return "--piece: 1K to 1G";
  }
  if (!(options.wire_bytes > 0 && options.wire_bytes <= 4)) return "--wire-bytes: above 0, up to 4";
  return simulator::complaint_about(cluster_of(options));
}

void print_heading(bool csv) {
  if (csv) {
    std::puts(
        "schedule,ms,busbw_gbytes,link_share,mbytes_host_out,mbytes_spine,messages,"
        "thread_share,simulated");
    return;
  }
  std::printf("%-28s %10s %10s %7s %10s %10s %10s %7s\n", "schedule", "ms", "busbw", "link",
              "host out", "spine", "messages", "thread");
  std::printf("%-28s %10s %10s %7s %10s %10s %10s %7s\n", "", "", "GB/s", "busy", "MB", "MB", "",
              "busy");
}

void print_row(const SimOptions& options, const simulator::Outcome& outcome) {
  const double bytes = static_cast<double>(options.bytes);
  const double busbw = 2.0 * (options.ranks - 1) / options.ranks * bytes / outcome.seconds / 1e9;
  const double link = outcome.host_out_bytes / (options.gbit * kBytesPerGbit) / outcome.seconds;
  const char* format = options.csv ? "%s,%.6f,%.4f,%.4f,%.3f,%.3f,%llu,%.4f"
                                   : "%-28s %10.3f %10.3f %7.3f %10.2f %10.2f %10llu %7.3f";
  std::printf(format, outcome.schedule.c_str(), outcome.seconds * 1e3, busbw, link,
              outcome.host_out_bytes / 1e6, outcome.spine_bytes / 1e6,
              static_cast<unsigned long long>(outcome.messages),
              outcome.compute_s / outcome.seconds);
  if (options.csv) std::printf(",%d", outcome.simulated_ranks);
  std::puts("");
}

}  // namespace

int run_simulation(const SimOptions& options) {
  if (const std::string wrong = complaint_about(options); !wrong.empty()) return refuse(wrong);
  const simulator::Cluster cluster = cluster_of(options);
  simulator::Workload workload = workload_of(options);
  const collectives::Layout layout = options.ignore_hosts ? collectives::flat_layout(options.ranks)
                                                          : simulator::layout_of(cluster);
  std::set<std::string> seen;
  for (const collectives::ScheduleKind kind : collectives::kScheduleKinds) {
    if (is_hierarchical(kind) && layout.largest_host == 1) continue;  // the same as what it runs
    const std::string name =
        collectives::make_plan(kind, workload.collective, 0, layout, workload.grid).schedule;
    if (!name.starts_with(options.schedule) || !seen.insert(name).second) continue;
    if (seen.size() == 1) print_heading(options.csv);
    workload.schedule = kind;
    const auto outcome = simulator::simulate(cluster, workload);
    if (!outcome.ok()) return refuse(outcome.status().text());
    print_row(options, outcome.value());
  }
  return seen.empty() ? refuse("--schedule: no schedule's name begins so") : 0;
}

}  // namespace thinwire::cli
