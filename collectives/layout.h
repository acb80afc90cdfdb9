// Layout: where the ranks of a group are: which share a host, which hosts share a rack (or leaf
// switch, or site), and the order in which neighbours should follow one another. A value, the same
// on every rank; pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thinwire::collectives {

// Sides of a grid, the last one the innermost: {4, 8} is 4 rows of 8 neighbours in Layout::order.
using GridSides = std::vector<int>;

// How far a message travels.
inline constexpr int kWithinHost = 0;
inline constexpr int kBetweenHosts = 1;
inline constexpr int kBetweenRacks = 2;

struct Layout {
  std::vector<int> host_of;   // per rank; hosts are numbered from 0 on
  std::vector<int> rack_of;   // per host; racks are numbered from 0 on
  std::vector<int> order;     // the ranks, host by host, racks together, ascending within a host
  std::vector<int> position;  // per rank: its place in `order`
  int widest = 0;             // the highest level between any two ranks
  int largest_host = 1;       // ranks of the host that has most

  int ranks() const { return static_cast<int>(host_of.size()); }
  int hosts() const { return static_cast<int>(rack_of.size()); }
  int rank_at(int place) const { return order[static_cast<std::size_t>(place)]; }
  int place_of(int rank) const { return position[static_cast<std::size_t>(rank)]; }
  int host(int rank) const { return host_of[static_cast<std::size_t>(rank)]; }
  // kWithinHost, kBetweenHosts or kBetweenRacks.
  int level(int rank, int other) const;
};

// Every rank on a host of its own, all in one rack, in rank order. Requires ranks >= 1.
Layout flat_layout(int ranks);

// From any numbers that name each rank's host and rack; equal numbers mean the same one. Hosts and
// racks are ordered by their lowest rank. A host belongs to the rack of its lowest rank. Requires
// one host id a rank, and one rack id a rank or none (one rack).
Layout make_layout(std::span<const std::uint64_t> host_ids,
                   std::span<const std::uint64_t> rack_ids = {});

}  // namespace thinwire::collectives
