// Agreement: all ranks of a group decide together whether it comes into being.
//
// One round over a binary tree (parent of r = (r - 1) / 2), O(log n): every rank casts a ballot
// with its settings and what failed for it; the root compares them and its verdict comes back down
// the same tree. Any failure, difference, silence or death makes every rank refuse within the
// deadlines. Only a link that dies while the last verdict travels can leave ranks divided (no
// protocol can exclude it): those ranks see a lost peer on their first operation.
// Owner: CollComm::connect(); one thread; blocks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "plugin/group_links.h"

namespace thinwire::plugin {

// Where a rank is: equal numbers mean the same host, the same rack; rack 0: not known.
struct Whereabouts {
  std::uint64_t host = 0;
  std::uint32_t rack = 0;
  bool operator==(const Whereabouts&) const = default;
};

// What the ranks of a subtree said.
struct Ballot {
  // The must-be-equal settings, as "NAME=value" lines, and the ranks that have exactly these.
  std::map<std::string, std::vector<int>> settings;
  // What failed, in words, by the rank that says so.
  std::map<int, std::string> failures;
  // Where each rank is, for those that said it.
  std::map<int, Whereabouts> places;

  void merge(const Ballot& other);
  std::string encode() const;
  // False for bytes that are no ballot.
  static bool decode(const std::string& bytes, Ballot* out);
};

struct Verdict {
  Code code = Code::ok;
  std::string text = {};  // why not; for people
  // Of an agreement: where every rank is, in rank order, if all have said it.
  std::vector<Whereabouts> places = {};
};

// The verdict over the ballot of all ranks: names differing settings with values and ranks.
Verdict judge(const Ballot& all);

struct Deadlines {
  std::int64_t ballots_ns = 0;  // when a silent child is given up
  std::int64_t verdict_ns = 0;  // when a silent parent is
};

int parent_of(int rank);  // -1 for the root
std::vector<int> children_of(int rank, int ranks);
// Parent and children.
std::vector<int> tree_peers(int rank, int ranks);

// `round` numbers the rounds over the same links.
Verdict agree(GroupLinks& links, int round, const Ballot& mine, const Deadlines& deadlines);

}  // namespace thinwire::plugin
