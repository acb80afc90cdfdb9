#include "simulator/programs.h"

#include <algorithm>
#include <cmath>

#include "collectives/engine.h"
#include "collectives/geometry.h"

namespace thinwire::simulator {
namespace {

using collectives::Layout;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

class Maker {
 public:
  Maker(const Cluster& cluster, const Workload& workload)
      : cluster_(cluster), workload_(workload), ranks_(cluster.ranks()) {
    result_.layout = workload.ignore_hosts ? collectives::flat_layout(ranks_) : layout_of(cluster);
  }

  Result<Programs> run() {
    const int period = workload_.use_symmetry ? find_period() : ranks_;
    split(period < ranks_);
    double steps = 0;
    for (int place = 0; place < period; ++place) {
      auto program = std::make_unique<const Program>(make(place));
      steps += static_cast<double>(program->steps.size());
      if (steps / (place + 1) * period > kMaxSteps) {  // the others are about as long
        return Status(Code::invalid_argument,
                      "the ranks' Plans have more than 2^25 steps; accepted: fewer ranks, or ranks "
                      "that are alike, one of which stands for many");
      }
      result_.of_place.push_back(std::move(program));
    }
    limit_tiles();
    return std::move(result_);
  }

 private:
  // The least number of places, if any, after which everything looks the same.
  int find_period() const {
    const std::size_t blocks = workload_.count / collectives::kBlockElements;
    if (cluster_.cyclic || blocks < at(ranks_)) return ranks_;
    // Its few ranks all wait for all, so that the order in which each adds matters.
    if (workload_.schedule == collectives::ScheduleKind::exchange) return ranks_;
    const bool racked = cluster_.racks() > 1;
    if (racked && cluster_.hosts % cluster_.hosts_per_rack != 0) return ranks_;
    const int unit = cluster_.ranks_per_host * (racked ? cluster_.hosts_per_rack : 1);
    for (int period = unit; period <= ranks_ / 2; period += unit) {
      if (ranks_ % period == 0 && repeats(period)) return period;
    }
    return ranks_;
  }

  bool repeats(int period) const {
    for (int place = 0; place < period; ++place) {
      const Exchange own = exchange_of(plan_of(place), result_.layout);
      for (const int other : {place + period, place + ranks_ - period}) {
        if (exchange_of(plan_of(other), result_.layout) != own) return false;
      }
    }
    return true;
  }

  void split(bool evenly) {
    std::vector<std::size_t> offsets(at(ranks_) + 1);
    collectives::split_evenly(workload_.count, offsets);
    const auto mean = static_cast<double>(workload_.count) / ranks_;
    double longest = 0;
    for (int place = 0; place < ranks_; ++place) {
      const auto rank = at(result_.layout.rank_at(place));
      const auto own = static_cast<double>(offsets[rank + 1] - offsets[rank]);
      result_.piece_elements.push_back(evenly ? mean : own);
      longest = std::max(longest, result_.piece_elements.back());
    }
    const std::size_t most = workload_.piece_bytes / workload_.element_bytes;
    result_.tile_elements = static_cast<double>(
        std::max(collectives::kBlockElements,
                 most / collectives::kBlockElements * collectives::kBlockElements));
    result_.tiles = static_cast<int>(std::ceil(longest / result_.tile_elements));
  }

  // As many as the Engine's staging holds.
  void limit_tiles() {
    double largest = 1;
    for (const auto& program : result_.of_place) {
      const double wire = workload_.wire_bytes_per_element[at(result_.layout.widest)];
      largest = std::max(largest, result_.tile_elements *
                                      (program->wire_regions * wire + program->acc_regions * 4.0));
    }
    result_.tiles_at_once =
        std::clamp(static_cast<int>(static_cast<double>(collectives::kMaxStagingBytes) / largest),
                   1, workload_.max_tiles);
  }

  collectives::Plan plan_of(int place) const {
    return collectives::make_plan(workload_.schedule, workload_.collective,
                                  result_.layout.rank_at(place), result_.layout, workload_.grid);
  }
  Program make(int place) {
    const collectives::Plan plan = plan_of(place);
    result_.schedule = plan.schedule;
    return make_program(plan, workload_.arithmetic, result_.layout,
                        [&](int piece) { return result_.piece_elements[at(piece)] == 0; });
  }

  const Cluster& cluster_;
  const Workload& workload_;
  const int ranks_;
  Programs result_;
};

}  // namespace

double Programs::steps_run() const {
  double steps = 0;
  for (const auto& program : of_place) steps += static_cast<double>(program->steps.size());
  return steps * tiles;
}

double Programs::elements(int piece, int tile) const {
  const double left = piece_elements[at(piece)] - tile * tile_elements;
  return std::clamp(left, 0.0, tile_elements);
}

Result<Programs> make_programs(const Cluster& cluster, const Workload& workload) {
  return Maker(cluster, workload).run();
}

}  // namespace thinwire::simulator
