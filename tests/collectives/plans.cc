#include "tests/collectives/plans.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace thinwire::collectives::testing {

Layout hosts_of(int each, int ranks) {
  std::vector<std::uint64_t> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(static_cast<std::uint64_t>(rank / each));
  return make_layout(hosts);
}

std::vector<Plan> all_plans(ScheduleKind kind, Collective collective, const Layout& layout,
                            const GridSides& grid) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    plans.push_back(make_plan(kind, collective, rank, layout, grid));
  }
  return plans;
}

int depth_of(const std::vector<Plan>& plans) {
  std::map<std::tuple<int, int, int>, int> messages;
  std::vector<std::vector<int>> depths;  // per rank and step; -1: not known yet
  for (const Plan& plan : plans) depths.emplace_back(plan.steps.size(), -1);
  int deepest = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Plan& plan : plans) {
      auto& mine = depths[static_cast<std::size_t>(plan.rank)];
      for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        const Step& step = plan.steps[i];
        const std::tuple received{step.peer, plan.rank, step.message};
        const bool receives = step.kind == StepKind::receive;
        if (mine[i] >= 0 || (receives && !messages.contains(received))) continue;
        int depth = receives ? messages.at(received) : 0;
        bool known = true;
        for (const StepIndex on : plan.dependencies_of(step)) {
          known = known && mine[static_cast<std::size_t>(on)] >= 0;
          depth = std::max(depth, mine[static_cast<std::size_t>(on)]);
        }
        if (!known) continue;
        mine[i] = depth;
        moved = true;
        if (step.kind != StepKind::send) continue;
        messages[{plan.rank, step.peer, step.message}] = depth + 1;
        deepest = std::max(deepest, depth + 1);
      }
    }
  }
  return deepest;
}

int most_peers(const std::vector<Plan>& plans) {
  std::size_t most = 0;
  for (const Plan& plan : plans) most = std::max(most, peers_of(plan).size());
  return static_cast<int>(most);
}

}  // namespace thinwire::collectives::testing
