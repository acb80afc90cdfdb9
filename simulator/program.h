// Program: the steps of one rank's Plan that take time, as a simulation runs them. Immutable once
// made; pure; any thread.
//
// Ranks, and the pieces that they own, are named by their places in Layout::order.
#pragma once

#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/compiled_plan.h"
#include "collectives/layout.h"
#include "collectives/plan.h"

namespace thinwire::simulator {

// Pairs a send with its receive as seen from the receiver's place: how far away the sender and the
// owner of the piece are, and the how-manieth message of that piece it is from that sender. So it
// is the same for all pairs that are images of one another.
using MessageKey = std::uint64_t;

struct ProgramStep {
  collectives::Action action = collectives::Action::nothing;
  int level = -1;
  std::int32_t piece = 0;
  std::int32_t peer = -1;
  std::int32_t waits_for = 0;  // steps, and for a receive its message
  std::int32_t first_dependent = 0;
  std::int32_t dependent_count = 0;
  MessageKey key = 0;
};

struct Program {
  std::vector<ProgramStep> steps;
  std::vector<std::int32_t> dependents;
  std::vector<std::pair<MessageKey, std::int32_t>> receives;  // ascending
  std::int32_t wire_regions = 0;
  std::int32_t acc_regions = 0;

  // The step that takes this message; -1: none does.
  std::int32_t receiver_of(MessageKey key) const;
};

// `empty`: whether a piece, by its owner's place, has nothing to carry.
Program make_program(const collectives::Plan& plan, collectives::Arithmetic arithmetic,
                     const collectives::Layout& layout, const std::function<bool(int)>& empty);

// What a rank sends and receives, seen from its own place: equal for ranks that are images of one
// another. Ascending.
using Exchange = std::vector<std::tuple<bool, int, MessageKey>>;
Exchange exchange_of(const collectives::Plan& plan, const collectives::Layout& layout);

}  // namespace thinwire::simulator
