#include "collectives/schedules/hierarchical.h"

#include <utility>

#include "collectives/schedules/grid.h"
#include "collectives/schedules/relay.h"

namespace thinwire::collectives {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Everyone sends to the owner, in rounds such that no owner is everyone's first.
class Star final : public Routes {
 public:
  explicit Star(int nodes) : nodes_(nodes) {}

  int nodes() const override { return nodes_; }
  int rounds() const override { return nodes_ - 1; }

  Edge parent(int piece, int node) const override {
    const int away = (piece - node + nodes_) % nodes_;
    return away == 0 ? Edge{} : Edge{piece, away - 1};
  }

  void add_children(int piece, int node, std::vector<Edge>& out) const override {
    if (piece != node) return;
    for (int away = 1; away < nodes_; ++away) {
      out.push_back({(node - away + nodes_) % nodes_, away - 1});
    }
  }

 private:
  int nodes_;
};

// The places of one host: [first, first + size).
struct Block {
  int first = 0;
  int size = 0;
};

class Hierarchical final : public Routes {
 public:
  Hierarchical(std::vector<Block> hosts, std::vector<int> host_of, std::unique_ptr<Routes> between)
      : hosts_(std::move(hosts)), host_of_(std::move(host_of)), between_(std::move(between)) {
    for (const Block& host : hosts_) rounds_within_ = std::max(rounds_within_, host.size - 1);
  }

  int nodes() const override { return static_cast<int>(host_of_.size()); }
  int rounds() const override { return rounds_within_ + between_->rounds(); }

  Edge parent(int piece, int node) const override {
    const int host = host_of_[at(node)];
    const Block& block = hosts_[at(host)];
    const int collector = stand_in(host, piece);
    const Edge within = Star(block.size).parent(collector - block.first, node - block.first);
    if (within.node != kNoNode) return {collector, within.round};
    const Edge outward = between_->parent(host_of_[at(piece)], host);
    if (outward.node == kNoNode) return {};
    return {stand_in(outward.node, piece), rounds_within_ + outward.round};
  }

  void add_children(int piece, int node, std::vector<Edge>& out) const override {
    const int host = host_of_[at(node)];
    const Block& block = hosts_[at(host)];
    if (stand_in(host, piece) != node) return;
    const std::size_t local = out.size();
    Star(block.size).add_children(node - block.first, node - block.first, out);
    for (std::size_t i = local; i < out.size(); ++i) out[i].node += block.first;
    const std::size_t remote = out.size();
    between_->add_children(host_of_[at(piece)], host, out);
    for (std::size_t i = remote; i < out.size(); ++i) {
      out[i] = {stand_in(out[i].node, piece), rounds_within_ + out[i].round};
    }
  }

 private:
  int stand_in(int host, int piece) const {
    if (host == host_of_[at(piece)]) return piece;
    return hosts_[at(host)].first + piece % hosts_[at(host)].size;
  }

  std::vector<Block> hosts_;  // in the order of their places
  std::vector<int> host_of_;  // per place: index into hosts_
  std::unique_ptr<Routes> between_;
  int rounds_within_ = 0;
};

std::unique_ptr<Routes> routes_between(int hosts, InnerSchedule inner, const GridSides& grid) {
  switch (inner) {
    case InnerSchedule::direct:
      return std::make_unique<Star>(hosts);
    case InnerSchedule::grid:
      return grid.empty() ? row_routes(hosts, best_rows(hosts)) : grid_routes(grid);
    case InnerSchedule::ring:
      break;
  }
  return grid_routes({hosts});
}

const char* name_of(InnerSchedule inner) {
  constexpr const char* kNames[] = {"hierarchical ring", "hierarchical direct",
                                    "hierarchical grid"};
  return kNames[static_cast<int>(inner)];
}

}  // namespace

std::unique_ptr<Routes> hierarchical_routes(const Layout& layout, InnerSchedule inner,
                                            const GridSides& grid) {
  std::vector<Block> hosts;
  std::vector<int> host_of;
  for (int place = 0; place < layout.ranks(); ++place) {
    const bool same =
        place > 0 && layout.host(layout.rank_at(place)) == layout.host(layout.rank_at(place - 1));
    if (!same) hosts.push_back({place, 0});
    ++hosts.back().size;
    host_of.push_back(static_cast<int>(hosts.size()) - 1);
  }
  auto between = routes_between(static_cast<int>(hosts.size()), inner, grid);
  return std::make_unique<Hierarchical>(std::move(hosts), std::move(host_of), std::move(between));
}

Plan make_hierarchical(Collective collective, int rank, const Layout& layout, InnerSchedule inner,
                       const GridSides& grid) {
  return make_relay(name_of(inner), collective, rank, layout,
                    *hierarchical_routes(layout, inner, grid));
}

}  // namespace thinwire::collectives
