#include "collectives/schedules/direct.h"

#include <vector>

#include "collectives/plan_builder.h"

namespace thinwire::collectives {
namespace {

class Direct {
 public:
  Direct(PlanBuilder& builder, int rank, int ranks)
      : builder_(builder),
        rank_(rank),
        ranks_(ranks),
        sent_(static_cast<std::size_t>(ranks), kNoStep) {}

  int reduce_messages() const { return 1; }

  // Sends every other piece to its owner and sums the own one. Returns the last addition.
  StepIndex reduce() {
    std::vector<StepIndex> received(static_cast<std::size_t>(ranks_), kNoStep);
    for (int distance = 1; distance < ranks_; ++distance) {
      const int from = peer(distance);
      received[static_cast<std::size_t>(from)] = builder_.add({.kind = StepKind::receive,
                                                               .piece = rank_,
                                                               .wire = contribution_slot(from),
                                                               .peer = from,
                                                               .message = 0});
    }
    for (int distance = 1; distance < ranks_; ++distance) {
      const int to = peer(distance);
      const StepIndex encoded =
          builder_.add({.kind = StepKind::encode_input, .piece = to, .wire = to});
      sent_[static_cast<std::size_t>(to)] = builder_.add(
          {.kind = StepKind::send, .piece = to, .wire = to, .peer = to, .message = 0}, {encoded});
    }
    StepIndex last = kNoStep;
    for (int from = 0; from < ranks_; ++from) {
      last = accumulate(from, received[static_cast<std::size_t>(from)], last);
    }
    return last;
  }

  // Sends wire slot `rank_` to all and decodes what the others own.
  void gather(StepIndex own, int message) {
    for (int distance = 1; distance < ranks_; ++distance) {
      builder_.add({.kind = StepKind::send,
                    .piece = rank_,
                    .wire = rank_,
                    .peer = peer(distance),
                    .message = message},
                   {own});
    }
    for (int distance = 1; distance < ranks_; ++distance) {
      const int from = peer(distance);
      const StepIndex received = builder_.add({.kind = StepKind::receive,
                                               .piece = from,
                                               .wire = from,
                                               .peer = from,
                                               .message = message},
                                              {sent_[static_cast<std::size_t>(from)]});
      builder_.add({.kind = StepKind::decode, .piece = from, .wire = from}, {received});
    }
  }

 private:
  int peer(int distance) const { return (rank_ + distance) % ranks_; }
  int contribution_slot(int from) const { return ranks_ + (from < rank_ ? from : from - 1); }

  StepIndex accumulate(int from, StepIndex received, StepIndex previous) {
    const bool first = previous == kNoStep;
    Step step{.piece = rank_, .acc = 0};
    if (from == rank_) {
      step.kind = first ? StepKind::load_input : StepKind::add_input;
    } else {
      step.kind = first ? StepKind::load_wire : StepKind::add_wire;
      step.wire = contribution_slot(from);
    }
    return builder_.add(step, {received, previous});
  }

  PlanBuilder& builder_;
  int rank_;
  int ranks_;
  std::vector<StepIndex> sent_;  // per piece: the send that frees its wire slot
};

}  // namespace

Plan make_direct(Collective collective, int rank, const Layout& layout) {
  return compose("direct", collective, rank, layout,
                 [&](PlanBuilder& builder) { return Direct(builder, rank, layout.ranks()); });
}

}  // namespace thinwire::collectives
