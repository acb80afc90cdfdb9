// Cost model: how long a schedule takes, from latencies, rates and processing speeds (alpha, beta,
// gamma). Pure; any thread. docs/scaling.md explains it.
//
// All that enters is equal on all ranks: the layout, the call, and constants whose hash the ranks
// compare. Doubles are only added, multiplied, divided and compared, so that every processor gets
// the same numbers.
#pragma once

#include <array>
#include <span>

#include "collectives/compiled_plan.h"
#include "collectives/cost_constants.h"
#include "collectives/layout.h"
#include "collectives/schedule_kind.h"

namespace thinwire::collectives {

// A Layout in numbers. Of unequal hosts the largest counts.
struct Shape {
  int ranks = 1;
  int hosts = 1;
  int ranks_per_host = 1;
  int widest = 0;  // level between the two ranks that are furthest apart
};
Shape shape_of(const Layout& layout);

// What is to be reduced, and how.
struct Task {
  double bytes = 0;  // of the whole vector, in memory
  double element_bytes = 4;
  Arithmetic arithmetic = Arithmetic::native;
  std::array<compression::CodecSpec, compression::kLevelCount> codecs;  // by level
  double piece_bytes = 128 * 1024;
  std::span<const int> grid;  // sides; empty: about square
};

struct Prediction {
  double seconds = 0;
  int steps = 0;         // messages that wait for one another
  double latency_s = 0;  // of these
  double link_s = 0;     // that the busiest link is occupied
  double thread_s = 0;   // that a rank's thread is
};

// Of an all-reduce that nothing disturbs.
Prediction predict(ScheduleKind kind, const Shape& shape, const Task& task,
                   const CostConstants& costs);

}  // namespace thinwire::collectives
