// Over which pairs of ports, one here and one at the peer, the paths of a connection go. Both sides
// count them alike: pair p is of member p modulo the number of members, on each side, and there
// are as many pairs as the side with more members has. A path belongs on one of them, and the
// connecting side moves it elsewhere while that one does not work.
// Owner: a Channel; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace thinwire::transports::verbs {

struct Pair {
  std::uint16_t number = 0;
  std::uint16_t here = 0;   // the member
  std::uint16_t there = 0;  // the peer's
};

class Pairs {
 public:
  Pairs(std::size_t here, std::size_t there);

  std::size_t size() const { return health_.size(); }
  Pair at(std::size_t number) const;
  // Path 0 is the one for messages; data paths take turns.
  Pair home(std::size_t path) const { return at(path == 0 ? 0 : path - 1); }

  // A bit for each member whose port is up. One that comes up is trusted again.
  void set_here(std::uint16_t ports);
  void set_there(std::uint16_t ports);
  bool is_up(const Pair& pair) const;

  // A path over it failed though both ports were up.
  void failed(const Pair& pair, std::int64_t now_ns);
  // It failed and was not tried since; from `retry` on it may be.
  bool is_suspect(const Pair& pair) const { return health_[pair.number].suspended_until_ns > 0; }
  bool may_retry(const Pair& pair, std::int64_t now_ns) const;
  // A path over it works.
  void proven(const Pair& pair) { health_[pair.number].suspended_until_ns = 0; }

  // The best for a path that stands still: where it belongs, else the next one of those that did
  // not fail, or not lately. None: there is none with both ports up.
  std::optional<Pair> choose(std::size_t path) const;

 private:
  struct Health {
    int failures = 0;  // lately
    std::int64_t failed_ns = 0;
    std::int64_t suspended_until_ns = 0;
  };
  void trust(std::uint16_t Pair::*side, std::uint16_t came_up);

  const std::size_t here_;
  const std::size_t there_;
  std::uint16_t ports_here_ = 0xffff;
  std::uint16_t ports_there_ = 0xffff;
  std::vector<Health> health_;
};

// How many data paths a connection has, where the connecting side wants `wanted`: as many for every
// pair, at least one, at most kMaxDataPaths together.
std::size_t data_paths_for(std::size_t wanted, std::size_t here, std::size_t there);

}  // namespace thinwire::transports::verbs
