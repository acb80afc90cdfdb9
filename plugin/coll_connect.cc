#include "plugin/coll_connect.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/host_identity.h"
#include "plugin/engine_options.h"
#include "plugin/near_links.h"

namespace thinwire::plugin {

namespace {

// How the time allowed for connecting is spent, so that a rank which misses another still has time
// to tell the rest.
struct Schedule {
  std::int64_t start_ns;
  std::int64_t budget_ns;
  std::int64_t at(double fraction) const {
    return start_ns + static_cast<std::int64_t>(static_cast<double>(budget_ns) * fraction);
  }
};

// Makes links until a deadline; returns what failed, in words.
using MakeLinks = std::function<std::string(std::int64_t deadline_ns)>;

// One phase: make the links, then agree on how that went.
Verdict connect_phase(GroupLinks& links, int round, const MakeLinks& make_links,
                      const std::string& settings, const Whereabouts& place,
                      const Schedule& schedule, double begin, double length) {
  Ballot mine;
  mine.settings[settings] = {links.rank()};
  mine.places[links.rank()] = place;
  const std::string failures = make_links(schedule.at(begin + length * 0.6));
  if (!failures.empty()) mine.failures.emplace(links.rank(), "cannot reach " + failures);
  return agree(
      links, round, mine,
      {.ballots_ns = schedule.at(begin + length * 0.8), .verdict_ns = schedule.at(begin + length)});
}

Whereabouts whereabouts(const Plugin& plugin) {
  const HostIdentity host = host_identity(plugin.config().hostid);
  const std::optional<int> leaf =
      plugin.cluster().leaf_of(host.name.substr(0, host.name.find('/')));
  return {host.hash, leaf ? static_cast<std::uint32_t>(*leaf) + 1 : 0};
}

// Racks are numbered as in the cluster file, which has to be the same for all.
std::string cluster_text(const topology::ClusterView& cluster) {
  return "contents of THINWIRE_CLUSTER_FILE=" + std::to_string(cluster.digest()) + "\n";
}

// What decides the schedule, wherever it comes from.
std::string tuning_text(const collectives::CostConstants& costs) {
  return "contents of THINWIRE_TUNING_FILE=" + std::to_string(costs_hash(costs)) + "\n";
}

collectives::Layout layout_of(const std::vector<Whereabouts>& places) {
  std::vector<std::uint64_t> hosts;
  std::vector<std::uint64_t> racks;
  for (const Whereabouts& place : places) {
    hosts.push_back(place.host);
    racks.push_back(place.rack);
  }
  return collectives::make_layout(hosts, racks);
}

// Those of `peers` that share this rank's host.
std::vector<int> peers_on_host(const collectives::Layout& layout, int rank,
                               std::span<const int> peers) {
  std::vector<int> near;
  std::copy_if(peers.begin(), peers.end(), std::back_inserter(near),
               [&](int peer) { return layout.host(peer) == layout.host(rank); });
  return near;
}

// All links that the Plans need: over the network, then those within the host through shared memory
// instead, where they can be.
std::string make_plan_links(GroupLinks& links, JointEndpoint& endpoint, Plugin& plugin,
                            const collectives::EngineOptions& options, std::int64_t deadline_ns) {
  const std::vector<int> peers = collectives::peers_needed(options, links.rank(), links.ranks());
  std::string failures = links.establish(peers, deadline_ns);
  const std::vector<int> near = peers_on_host(options.layout, links.rank(), peers);
  if (!failures.empty() || near.empty() || plugin.config().shm == ShmChoice::off) return failures;
  endpoint.set_near(plugin.open_near());
  return NearLinks(links, endpoint.near(), local_reach(), near, plugin.clock(), plugin.log())
      .establish(deadline_ns);
}

}  // namespace

// The tree's links do not depend on the settings that are being compared over it; the Plans' do.
Verdict connect_group(GroupLinks& links, JointEndpoint& endpoint, Plugin& plugin,
                      collectives::EngineOptions& options) {
  const Schedule schedule{plugin.clock().now_ns(),
                          plugin.config().connect_timeout_s * 1'000'000'000};
  const std::string settings =
      settings_text(plugin.config()) + cluster_text(plugin.cluster()) + tuning_text(plugin.costs());
  const Whereabouts place = whereabouts(plugin);
  const auto make_tree = [&](std::int64_t deadline_ns) {
    return links.establish(tree_peers(links.rank(), links.ranks()), deadline_ns);
  };
  const Verdict first = connect_phase(links, 0, make_tree, settings, place, schedule, 0, 0.6);
  if (first.code != Code::ok) return first;
  options.layout = layout_of(first.places);
  // Settings and hosts are the same for all by now, and so is what every rank finds.
  if (const std::string misfit = grid_misfit(plugin.config(), options.layout); !misfit.empty()) {
    return {Code::invalid_config, misfit};
  }
  const auto make_plans = [&](std::int64_t deadline_ns) {
    return make_plan_links(links, endpoint, plugin, options, deadline_ns);
  };
  return connect_phase(links, 1, make_plans, settings, place, schedule, 0.6, 0.4);
}

}  // namespace thinwire::plugin
