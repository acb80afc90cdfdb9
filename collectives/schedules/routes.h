// Routes: for every piece, the tree over which its contributions flow to its owner, and its sum
// back to everyone. What tells one relay schedule (relay.h) from another. Pure; any thread.
//
// Nodes are the places of Layout::order; piece p is owned by node p.
#pragma once

#include <vector>

namespace thinwire::collectives {

inline constexpr int kNoNode = -1;

// A message between a node and a neighbour in the tree of a piece. On its way to the owner it
// travels in `round`: whatever a node sends in a round was received in earlier ones.
struct Edge {
  int node = kNoNode;
  int round = 0;
};

class Routes {
 public:
  virtual ~Routes() = default;

  virtual int nodes() const = 0;
  // Rounds are numbered 0 .. rounds() - 1.
  virtual int rounds() const = 0;

  // Whom `node` sends its partial sum of `piece`; node kNoNode where it owns the piece.
  virtual Edge parent(int piece, int node) const = 0;

  // Appends who sends `node` theirs: all whose parent() it is, by ascending (round, node).
  virtual void add_children(int piece, int node, std::vector<Edge>& out) const = 0;
};

}  // namespace thinwire::collectives
