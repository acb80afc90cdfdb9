#include "collectives/schedules/grid.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "collectives/schedules/relay.h"

namespace thinwire::collectives {
namespace {

// From `from` to `to` along a ring.
int distance(int from, int to, int length) { return (to - from + length) % length; }
int next(int place, int length) { return place + 1 == length ? 0 : place + 1; }
int previous(int place, int length) { return (place == 0 ? length : place) - 1; }

class FullGrid final : public Routes {
 public:
  explicit FullGrid(GridSides sides) : sides_(std::move(sides)) {
    for (const int side : sides_) {
      nodes_ *= side;
      rounds_ += side - 1;
    }
  }

  int nodes() const override { return nodes_; }
  int rounds() const override { return rounds_; }

  // A partial sum moves along the innermost dimension in which it is not where its owner is.
  Edge parent(int piece, int node) const override {
    int stride = 1;
    int first_round = 0;
    for (std::size_t d = sides_.size(); d-- > 0;) {
      const int side = sides_[d];
      const int mine = node / stride % side;
      const int left = distance(mine, piece / stride % side, side);
      if (left > 0) {
        const int onward = node + (next(mine, side) - mine) * stride;
        return {onward, first_round + side - 1 - left};
      }
      stride *= side;
      first_round += side - 1;
    }
    return {};
  }

  void add_children(int piece, int node, std::vector<Edge>& out) const override {
    int stride = 1;
    int first_round = 0;
    for (std::size_t d = sides_.size(); d-- > 0;) {
      const int side = sides_[d];
      const int mine = node / stride % side;
      const int left = distance(mine, piece / stride % side, side);
      if (left < side - 1) {
        const int child = node + (previous(mine, side) - mine) * stride;
        out.push_back({child, first_round + side - 2 - left});
      }
      if (left > 0) return;
      stride *= side;
      first_round += side - 1;
    }
  }

 private:
  GridSides sides_;
  int nodes_ = 1;
  int rounds_ = 0;
};

class Rows final : public Routes {
 public:
  Rows(int nodes, int rows)
      : nodes_(nodes), rows_(rows), shorter_(nodes / rows), longer_rows_(nodes % rows) {}

  int nodes() const override { return nodes_; }
  int rounds() const override { return longest() - 1 + rows_ - 1; }

  Edge parent(int piece, int node) const override {
    const auto [row, column] = place_of(node);
    const auto [owner_row, owner_column] = place_of(piece);
    const int within = distance(column, collector(row, owner_row, owner_column), length(row));
    if (within > 0) return {node_at(row, next(column, length(row))), longest() - 1 - within};
    const int down = distance(row, owner_row, rows_);
    if (down == 0) return {};
    const int below = next(row, rows_);
    return {node_at(below, collector(below, owner_row, owner_column)),
            longest() - 1 + rows_ - 1 - down};
  }

  void add_children(int piece, int node, std::vector<Edge>& out) const override {
    const auto [row, column] = place_of(node);
    const auto [owner_row, owner_column] = place_of(piece);
    const int within = distance(column, collector(row, owner_row, owner_column), length(row));
    if (within < length(row) - 1) {
      out.push_back({node_at(row, previous(column, length(row))), longest() - 2 - within});
    }
    const int down = distance(row, owner_row, rows_);
    if (within > 0 || down == rows_ - 1) return;
    const int above = previous(row, rows_);
    out.push_back({node_at(above, collector(above, owner_row, owner_column)),
                   longest() - 1 + rows_ - 2 - down});
  }

 private:
  int longest() const { return shorter_ + (longer_rows_ > 0 ? 1 : 0); }
  int length(int row) const { return shorter_ + (row < longer_rows_ ? 1 : 0); }
  int node_at(int row, int column) const {
    return row * shorter_ + std::min(row, longer_rows_) + column;
  }
  std::pair<int, int> place_of(int node) const {
    const int in_longer = longer_rows_ * (shorter_ + 1);
    if (node < in_longer) return {node / (shorter_ + 1), node % (shorter_ + 1)};
    return {longer_rows_ + (node - in_longer) / shorter_, (node - in_longer) % shorter_};
  }
  // The column in which `row` gathers what the owner's column gets.
  int collector(int row, int owner_row, int owner_column) const {
    return owner_column < length(row) ? owner_column : owner_row % shorter_;
  }

  int nodes_;
  int rows_;
  int shorter_;
  int longer_rows_;  // how many rows, the first ones, have one node more
};

int steps_of(int nodes, int rows) { return (nodes + rows - 1) / rows - 1 + rows - 1; }

// Nodes of each rack; 0 where they differ or there is one rack only.
int rack_size(const Layout& layout) {
  std::vector<int> sizes;
  for (const int host : layout.host_of) {
    const auto rack = static_cast<std::size_t>(layout.rack_of[static_cast<std::size_t>(host)]);
    if (rack >= sizes.size()) sizes.resize(rack + 1);
    ++sizes[rack];
  }
  const bool equal =
      std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end();
  return equal && sizes.size() > 1 ? sizes[0] : 0;
}

int choose_rows(const Layout& layout) {
  const int best = best_rows(layout.ranks());
  const int size = rack_size(layout);
  if (size == 0) return best;
  int chosen = 0;
  for (int length = 1; length <= size; ++length) {
    const int rows = layout.ranks() / length;
    if (size % length != 0) continue;
    if (chosen == 0 || steps_of(layout.ranks(), rows) < steps_of(layout.ranks(), chosen)) {
      chosen = rows;
    }
  }
  return steps_of(layout.ranks(), chosen) <= 2 * steps_of(layout.ranks(), best) ? chosen : best;
}

}  // namespace

bool fits(std::span<const int> sides, int nodes) {
  std::int64_t product = 1;
  for (const int side : sides) {
    if (side < 1 || product > nodes) return false;
    product *= side;
  }
  return product == nodes;
}

std::unique_ptr<Routes> grid_routes(GridSides sides) {
  return std::make_unique<FullGrid>(std::move(sides));
}

std::unique_ptr<Routes> row_routes(int nodes, int rows) {
  if (nodes % rows == 0) return grid_routes({rows, nodes / rows});
  return std::make_unique<Rows>(nodes, rows);
}

int best_rows(int nodes) {
  int best = 1;
  for (int rows = 2; rows <= nodes; ++rows) {
    const int gain = steps_of(nodes, best) - steps_of(nodes, rows);
    if (gain > 0 || (gain == 0 && nodes % rows == 0 && nodes % best != 0)) best = rows;
  }
  return best;
}

std::unique_ptr<Routes> choose_grid(const GridSides& sides, const Layout& layout) {
  if (!sides.empty()) return grid_routes(sides);
  return row_routes(layout.ranks(), choose_rows(layout));
}

Plan make_grid(Collective collective, int rank, const Layout& layout, const GridSides& sides) {
  return make_relay("grid", collective, rank, layout, *choose_grid(sides, layout));
}

}  // namespace thinwire::collectives
