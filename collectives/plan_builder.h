// PlanBuilder: collects the steps of a Plan. Owner: one schedule function; one thread.
#pragma once

#include <initializer_list>
#include <span>

#include "collectives/layout.h"
#include "collectives/plan.h"

namespace thinwire::collectives {

inline constexpr StepIndex kNoStep = -1;

class PlanBuilder {
 public:
  // `layout` outlives this.
  PlanBuilder(const char* schedule, Collective collective, int rank, const Layout& layout);

  // Appends `step`, to run after `after` (kNoStep entries are left out); returns its index.
  StepIndex add(Step step, std::span<const StepIndex> after);
  StepIndex add(Step step, std::initializer_list<StepIndex> after = {}) {
    return add(step, std::span(after.begin(), after.size()));
  }

  // Ends the Plan. Messages from `first_gather_message` on carry owners' values to everyone, those
  // below it partial sums to one rank; that decides the levels.
  Plan finish(int first_gather_message);

 private:
  const Layout& layout_;
  Plan plan_;
};

// The frame all schedules share. `make(builder)` gives the schedule, an object with
//   StepIndex reduce(): sums piece `rank` into accumulator 0; returns the last addition;
//   void gather(StepIndex own, int first_message): sends wire slot `rank`, ready after `own`, to
//     everyone and decodes the pieces of all others, with messages from first_message on;
//   int reduce_messages() const: reduce() numbers its messages below this.
// A lone rank's Plan is a copy, whatever the collective.
template <class Make>
Plan compose(const char* name, Collective collective, int rank, const Layout& layout, Make make) {
  PlanBuilder builder(name, collective, rank, layout);
  const std::int32_t own = rank;
  if (layout.ranks() == 1) {
    builder.add({.kind = StepKind::copy_input, .piece = own});
    return builder.finish(0);
  }
  auto schedule = make(builder);
  if (collective == Collective::all_gather) {
    builder.add({.kind = StepKind::copy_input, .piece = own});
    schedule.gather(builder.add({.kind = StepKind::encode_input, .piece = own, .wire = own}), 0);
    return builder.finish(0);
  }
  const StepIndex summed = schedule.reduce();
  const int messages = schedule.reduce_messages();
  if (collective == Collective::reduce_scatter) {
    builder.add({.kind = StepKind::store_acc, .piece = own, .acc = 0}, {summed});
    return builder.finish(messages);
  }
  const StepIndex encoded =
      builder.add({.kind = StepKind::encode_acc, .piece = own, .wire = own, .acc = 0}, {summed});
  builder.add({.kind = StepKind::decode, .piece = own, .wire = own}, {encoded});
  schedule.gather(encoded, messages);
  return builder.finish(messages);
}

}  // namespace thinwire::collectives
