// Who sends what to whom, round by round, as a picture. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "collectives/layout.h"
#include "collectives/plan.h"

namespace thinwire::cli {

inline constexpr int kMaxDrawnRanks = 64;
inline constexpr int kMaxDrawnRounds = 128;

// A message, and the round it travels in: how many messages had to come before it.
struct DrawnMessage {
  int from = 0;
  int to = 0;
  int piece = 0;
  int round = 0;
};

// Of the Plans of all ranks, in rank order; they pass check_plans().
std::vector<DrawnMessage> messages_by_round(const std::vector<collectives::Plan>& plans);

// A complete SVG document: ranks as rows in Layout::order, rounds as columns, colours by the piece
// that is sent. At most kMaxDrawnRounds rounds are drawn.
std::string svg_of(const std::vector<DrawnMessage>& messages, const collectives::Layout& layout,
                   const std::string& title);

}  // namespace thinwire::cli
