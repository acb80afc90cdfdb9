#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "collectives/candidates.h"
#include "collectives/schedules/grid.h"
#include "collectives/staging.h"
#include "compression/policy.h"
#include "simulator/programs.h"
#include "simulator/simulate.h"

namespace thinwire::cli {
namespace {

constexpr double kBytesPerGbit = 1e9 / 8;

int refuse(const std::string& what) {
  std::fprintf(stderr, "thinwire sim: %s\n", what.c_str());
  return 2;
}

// Nothing where --codec names none.
std::optional<compression::CodecSpec> codec_of(const SimOptions& options) {
  std::string complaint;
  const auto policy = compression::Policy::parse(options.codec, complaint);
  if (!policy.ok() || policy.value().rules().size() != 1) return std::nullopt;
  return policy.value().rules()[0].codec;
}

simulator::Cluster cluster_of(const SimOptions& options) {
  simulator::Cluster cluster;
  cluster.hosts = options.hosts == 0 ? options.ranks : options.hosts;
  cluster.ranks_per_host = options.ranks / cluster.hosts;
  cluster.rails = options.rails;
  cluster.hosts_per_rack = options.racks == 1 ? 0 : cluster.hosts / options.racks;
  cluster.cyclic = options.cyclic;
  cluster.oversubscription = options.oversubscription;
  cluster.fan_in = options.fan_in;
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
  workload.ignore_hosts = options.ignore_hosts;
  workload.wire_bytes_per_element.fill(options.wire_bytes);
  if (const auto codec = codec_of(options)) {
    workload.wire_bytes_per_element.fill(collectives::wire_bytes_per_element(*codec, 4));
  }
  if (options.wire_bytes < 4 || !options.codec.empty()) {
    workload.arithmetic = collectives::Arithmetic::lossy_native;
  }
  return workload;
}

// What the cost model makes of the same.
collectives::Candidates predictions(const SimOptions& options, const simulator::Cluster& cluster,
                                    const simulator::Workload& workload,
                                    const collectives::Layout& layout) {
  collectives::EngineOptions engine;
  engine.costs = simulator::costs_of(cluster);
  engine.piece_bytes = options.piece_bytes;
  engine.grid = options.grid;
  if (!options.grid.empty()) engine.schedule = collectives::SchedulePolicy::grid;
  if (const auto codec = codec_of(options)) engine.policy = compression::Policy(*codec);
  return candidates(engine, layout, workload.arithmetic,
                    collectives::size_class(static_cast<std::size_t>(options.bytes)));
}

std::string complaint_about(const SimOptions& options) {
  const std::string wrong = complaint_about_groups(options.ranks, options.hosts, options.racks);
  if (!wrong.empty()) return wrong;
  if (!options.grid.empty() && !collectives::fits(options.grid, options.ranks)) {
    return "--grid: its sides must multiply to --ranks";
  }
  if (options.bytes < 4 || options.bytes > std::uint64_t{1} << 40) return "--size: 4 to 1T";
  if ((options.piece_bytes != 0 && options.piece_bytes < 1024) ||
      options.piece_bytes > std::uint64_t{1} << 30) {
    return "--piece: 0, or 1K to 1G";
  }
  if (!(options.wire_bytes > 0 && options.wire_bytes <= 4)) return "--wire-bytes: above 0, up to 4";
  if (!options.codec.empty() && !codec_of(options)) {
    return "--codec " + options.codec + ": one of none, fp16, bf16, int8, int4, fp8-e4m3, fp8-e5m2";
  }
  return simulator::complaint_about(cluster_of(options));
}

void print_heading(bool csv) {
  if (csv) {
    std::puts(
        "schedule,ms,busbw_gbytes,link_share,mbytes_host_out,mbytes_spine,messages,"
        "thread_share,simulated,predicted_ms,auto");
    return;
  }
  std::printf("%-28s %10s %10s %7s %10s %10s %10s %7s %10s\n", "schedule", "ms", "busbw", "link",
              "host out", "spine", "messages", "thread", "model");
  std::printf("%-28s %10s %10s %7s %10s %10s %10s %7s %10s\n", "", "", "GB/s", "busy", "MB", "MB",
              "", "busy", "ms");
}

void print_row(const SimOptions& options, const simulator::Outcome& outcome, double predicted_s,
               bool taken) {
  const double bytes = static_cast<double>(options.bytes);
  const double busbw = 2.0 * (options.ranks - 1) / options.ranks * bytes / outcome.seconds / 1e9;
  const double link = outcome.host_out_bytes / (options.gbit * kBytesPerGbit) / outcome.seconds;
  const char* format = options.csv ? "%s,%.6f,%.4f,%.4f,%.3f,%.3f,%llu,%.4f"
                                   : "%-28s %10.3f %10.3f %7.3f %10.2f %10.2f %10llu %7.3f";
  std::printf(format, outcome.schedule.c_str(), outcome.seconds * 1e3, busbw, link,
              outcome.host_out_bytes / 1e6, outcome.spine_bytes / 1e6,
              static_cast<unsigned long long>(outcome.messages),
              outcome.compute_s / outcome.seconds);
  if (options.csv) {
    std::printf(",%d,%.6f,%d\n", outcome.simulated_ranks, predicted_s * 1e3, taken ? 1 : 0);
  } else {
    std::printf(" %10.3f%s\n", predicted_s * 1e3, taken ? "  <- auto" : "");
  }
}

// Rounded down to a whole number of the largest unit.
std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"", "K", "M", "G"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return std::to_string(static_cast<long>(bytes)) + kUnits[unit];
}

// "": it is not too much work.
std::string too_much(const SimOptions& options, const simulator::Workload& workload,
                     const simulator::Programs& programs) {
  const double steps = programs.steps_run();
  if (steps <= simulator::kMaxStepsRun) return "";
  char text[160];
  std::snprintf(
      text, sizeof text,
      ": %.3g steps to run on %zu ranks that stand for %d; accepted: up to %.3g, that is ", steps,
      programs.of_place.size(), options.ranks, simulator::kMaxStepsRun);
  const double tiles = std::floor(simulator::kMaxStepsRun / (steps / programs.tiles));
  if (tiles < 1) return programs.schedule + text + "fewer --ranks";
  const double bytes = tiles * programs.tile_elements * 4 * options.ranks;
  return programs.schedule + text + "--size up to " + bytes_text(bytes) + " in pieces of " +
         std::to_string(workload.piece_bytes) + " bytes";
}

}  // namespace

int run_simulation(const SimOptions& options) {
  if (const std::string wrong = complaint_about(options); !wrong.empty()) return refuse(wrong);
  const simulator::Cluster cluster = cluster_of(options);
  simulator::Workload workload = workload_of(options);
  const collectives::Layout layout = options.ignore_hosts ? collectives::flat_layout(options.ranks)
                                                          : simulator::layout_of(cluster);
  const collectives::Candidates all = predictions(options, cluster, workload, layout);
  const collectives::ScheduleKind taken = best_of(all).kind;
  std::set<std::string> seen;
  for (const collectives::ScheduleKind kind : collectives::kScheduleKinds) {
    if (is_hierarchical(kind) && layout.largest_host == 1) continue;  // the same as what it runs
    const std::string name =
        collectives::make_plan(kind, workload.collective, 0, layout, workload.grid).schedule;
    if (!name.starts_with(options.schedule) || !seen.insert(name).second) continue;
    if (seen.size() == 1) print_heading(options.csv);
    workload.schedule = kind;
    const auto& candidate = all[static_cast<std::size_t>(kind)];
    workload.piece_bytes = bounded_piece_bytes({kind, candidate.piece_bytes}, layout);
    const auto programs = simulator::make_programs(cluster, workload);
    if (!programs.ok()) return refuse(name + ": " + programs.status().text());
    const std::string wrong = too_much(options, workload, programs.value());
    if (!wrong.empty()) return refuse(wrong);
    const auto outcome = simulator::simulate(cluster, workload, programs.value());
    if (!outcome.ok()) return refuse(outcome.status().text());
    print_row(options, outcome.value(), candidate.prediction.seconds, kind == taken);
  }
  return seen.empty() ? refuse("--schedule: no schedule's name begins so") : 0;
}

}  // namespace thinwire::cli
