#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/plan_drawing.h"
#include "cli/write_file.h"
#include "collectives/candidates.h"
#include "collectives/schedules/grid.h"
#include "collectives/selection.h"
#include "collectives/tuning_file.h"
#include "simulator/cluster.h"

namespace thinwire::cli {
namespace {

using collectives::Candidate;
using collectives::Candidates;
using collectives::ScheduleKind;

int refuse(const std::string& what) {
  std::fprintf(stderr, "thinwire plan: %s\n", what.c_str());
  return 2;
}

simulator::Cluster cluster_of(const PlanOptions& options) {
  simulator::Cluster cluster;
  cluster.hosts = options.hosts == 0 ? options.ranks : options.hosts;
  cluster.ranks_per_host = options.ranks / cluster.hosts;
  cluster.hosts_per_rack = options.racks == 1 ? 0 : cluster.hosts / options.racks;
  return cluster;
}

std::string known_schedules() {
  std::string names;
  for (const ScheduleKind kind : collectives::kScheduleKinds) {
    names += (names.empty() ? "" : ", ") + std::string(name_of(kind));
  }
  return names;
}

std::optional<ScheduleKind> schedule_named(const std::string& name) {
  for (const ScheduleKind kind : collectives::kScheduleKinds) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

std::string complaint_about(const PlanOptions& options) {
  const std::string wrong = complaint_about_groups(options.ranks, options.hosts, options.racks);
  if (!wrong.empty()) return wrong;
  if (options.bytes < 4 || options.bytes > std::uint64_t{1} << 40) return "--size: 4 to 1T";
  if (options.piece_bytes < 1024 || options.piece_bytes > std::uint64_t{1} << 30) {
    return "--piece: 1K to 1G";
  }
  if (!options.schedule.empty() && !schedule_named(options.schedule)) {
    return "--schedule " + options.schedule + ": accepted: " + known_schedules();
  }
  if (options.rank >= options.ranks) return "--rank: 0 to --ranks - 1";
  if (!options.svg.empty() && options.ranks > kMaxDrawnRanks) return "--svg: at most 64 ranks";
  return compression::complaint_about_policy(options.codec.empty() ? "none" : options.codec);
}

void print_candidates(const Candidates& all, ScheduleKind taken) {
  std::printf("%-20s %12s %7s %11s %11s %11s\n", "schedule", "predicted", "steps", "latency",
              "link busy", "thread busy");
  std::array<const Candidate*, std::tuple_size_v<Candidates>> sorted{};
  std::transform(all.begin(), all.end(), sorted.begin(), [](const Candidate& one) { return &one; });
  std::stable_sort(sorted.begin(), sorted.end(), [](const Candidate* a, const Candidate* b) {
    return a->prediction.seconds < b->prediction.seconds;
  });
  for (const Candidate* one : sorted) {
    const auto& p = one->prediction;
    std::printf("%-20s %9.3f ms %7d %8.3f ms %8.3f ms %8.3f ms%s%s%s\n",
                std::string(name_of(one->kind)).c_str(), p.seconds * 1e3, p.steps,
                p.latency_s * 1e3, p.link_s * 1e3, p.thread_s * 1e3,
                one->kind == taken ? "  <- taken" : "",
                *one->refused != '\0' ? "  not by auto: " : "", one->refused);
  }
}

// What the winner saves over the one that comes next.
void print_reason(const Candidates& all, const Candidate& best) {
  const Candidate* next = nullptr;
  for (const Candidate& one : all) {
    if (&one == &best || *one.refused != '\0') continue;
    if (next == nullptr || one.prediction.seconds < next->prediction.seconds) next = &one;
  }
  std::printf("auto takes %s", std::string(name_of(best.kind)).c_str());
  if (next == nullptr) {
    std::printf(": nothing else may be taken\n");
    return;
  }
  const auto& a = best.prediction;
  const auto& b = next->prediction;
  std::printf(", %.3f ms before %s: latency %+.3f ms, link %+.3f ms, thread %+.3f ms\n",
              (b.seconds - a.seconds) * 1e3, std::string(name_of(next->kind)).c_str(),
              (a.latency_s - b.latency_s) * 1e3, (a.link_s - b.link_s) * 1e3,
              (a.thread_s - b.thread_s) * 1e3);
}

int draw(const PlanOptions& options, ScheduleKind kind, const collectives::Layout& layout,
         const collectives::GridSides& grid) {
  std::vector<collectives::Plan> plans;
  plans.reserve(static_cast<std::size_t>(options.ranks));
  for (int rank = 0; rank < options.ranks; ++rank) {
    plans.push_back(make_plan(kind, collectives::Collective::all_reduce, rank, layout, grid));
  }
  const std::string title =
      plans[0].schedule + ", " + std::to_string(options.ranks) + " ranks, all-reduce";
  return write_file(options.svg, svg_of(messages_by_round(plans), layout, title)) ? 0 : 1;
}

}  // namespace

std::string complaint_about_groups(int ranks, int hosts, int racks) {
  if (ranks < 2 || ranks > simulator::kMaxRanks) return "--ranks: 2 to 4096";
  if (hosts == 0) hosts = ranks;
  if (hosts < 1 || ranks % hosts != 0) return "--hosts must divide --ranks";
  if (racks < 1 || hosts % racks != 0) return "--racks must divide the hosts";
  return "";
}

int explain_plan(const PlanOptions& options, const Log& log) {
  if (const std::string wrong = complaint_about(options); !wrong.empty()) return refuse(wrong);
  const auto costs = collectives::read_tuning_file(options.tuning_file, "--tuning-file", log);
  if (!costs.ok()) return 1;
  const collectives::Layout layout = simulator::layout_of(cluster_of(options));
  collectives::EngineOptions engine;
  engine.costs = costs.value();
  engine.grid = options.grid;
  if (!options.grid.empty()) {
    engine.schedule = collectives::fits(options.grid, options.ranks)
                          ? collectives::SchedulePolicy::grid
                          : collectives::SchedulePolicy::hierarchical;
  }
  engine.piece_bytes = options.piece_bytes;
  std::string complaint;
  if (auto policy = compression::Policy::parse(options.codec, complaint); policy.ok()) {
    engine.policy = std::move(policy).value();
  }
  const bool lossy = collectives::CodecSet(engine.policy, 0, layout)
                         .choose(collectives::Collective::all_reduce, DataType::float32,
                                 ReduceOp::sum, options.bytes)
                         .lossy();
  const auto arithmetic = collectives::choose_arithmetic(collectives::Collective::all_reduce,
                                                         DataType::float32, options.ranks, lossy);
  const std::size_t bytes = collectives::size_class(options.bytes);
  const Candidates all = collectives::candidates(engine, layout, arithmetic, bytes);
  const Candidate& best = collectives::best_of(all);
  const ScheduleKind taken =
      options.schedule.empty() ? best.kind : *schedule_named(options.schedule);
  const bool of_hosts = collectives::is_hierarchical(taken);
  if (!options.grid.empty() &&
      !collectives::fits(options.grid, of_hosts ? layout.hosts() : options.ranks)) {
    return refuse("--grid: its sides must multiply to the ranks, or the hosts where hierarchical");
  }
  std::printf(
      "%d ranks, %d hosts, %llu bytes of float32 (weighed as %zu), %s; constants: %s, "
      "hash %016llx\n\n",
      options.ranks, layout.hosts(), static_cast<unsigned long long>(options.bytes), bytes,
      lossy ? options.codec.c_str() : "exact",
      options.tuning_file.empty() ? "built in" : options.tuning_file.c_str(),
      static_cast<unsigned long long>(costs_hash(engine.costs)));
  print_candidates(all, taken);
  std::puts("");
  print_reason(all, best);
  if (options.rank >= 0) {
    std::printf("\n%s", to_text(make_plan(taken, collectives::Collective::all_reduce, options.rank,
                                          layout, options.grid))
                            .c_str());
  }
  return options.svg.empty() ? 0 : draw(options, taken, layout, options.grid);
}

}  // namespace thinwire::cli
