#include "collectives/schedules/tree.h"

#include <bit>

#include "collectives/schedules/relay.h"

namespace thinwire::collectives {
namespace {

// With nodes counted from the owner on, node x's parent is x without its lowest one bit, so that
// each subtree is a range of neighbours.
class Binomial final : public Routes {
 public:
  explicit Binomial(int nodes) : nodes_(nodes) {}

  int nodes() const override { return nodes_; }
  int rounds() const override {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(nodes_ - 1)));
  }

  Edge parent(int piece, int node) const override {
    const int from_owner = (node - piece + nodes_) % nodes_;
    if (from_owner == 0) return {};
    const int bit = std::countr_zero(static_cast<unsigned>(from_owner));
    return {(node - (1 << bit) + nodes_) % nodes_, bit};
  }

  void add_children(int piece, int node, std::vector<Edge>& out) const override {
    const int from_owner = (node - piece + nodes_) % nodes_;
    const int bits =
        from_owner == 0 ? rounds() : std::countr_zero(static_cast<unsigned>(from_owner));
    for (int bit = 0; bit < bits && from_owner + (1 << bit) < nodes_; ++bit) {
      out.push_back({(node + (1 << bit)) % nodes_, bit});
    }
  }

 private:
  int nodes_;
};

}  // namespace

std::unique_ptr<Routes> tree_routes(int nodes) { return std::make_unique<Binomial>(nodes); }

Plan make_tree(Collective collective, int rank, const Layout& layout) {
  return make_relay("tree", collective, rank, layout, *tree_routes(layout.ranks()));
}

}  // namespace thinwire::collectives
