#include "collectives/schedules/ring.h"

#include <vector>

#include "collectives/plan_builder.h"

namespace thinwire::collectives {
namespace {

// A tile's messages arrive in the order of its hops, so a few receives ahead are enough; posting
// all 2(n-1) would keep the later hops' receives from being posted where a transport limits them.
constexpr std::size_t kReceivesAhead = 4;

class Ring {
 public:
  Ring(PlanBuilder& builder, int rank, const Layout& layout)
      : builder_(builder),
        layout_(layout),
        rank_(rank),
        ranks_(layout.ranks()),
        sent_(static_cast<std::size_t>(ranks_), kNoStep) {}

  int reduce_messages() const { return ranks_ - 1; }

  // The reduce-scatter hops: messages 0 .. n-2. Returns the step after which acc 0 holds the sum
  // of this rank's own piece.
  StepIndex reduce() {
    const int first = behind(1);
    StepIndex encoded =
        builder_.add({.kind = StepKind::encode_input, .piece = first, .wire = first});
    sent_[static_cast<std::size_t>(first)] = send(first, 0, encoded);
    StepIndex acc_free = kNoStep;
    for (int hop = 0;; ++hop) {
      const int piece = behind(2 + hop);
      const StepIndex received = receive(piece, hop, kNoStep);
      const StepIndex loaded =
          builder_.add({.kind = StepKind::load_wire, .piece = piece, .wire = piece, .acc = 0},
                       {received, acc_free});
      const StepIndex added =
          builder_.add({.kind = StepKind::add_input, .piece = piece, .acc = 0}, {loaded});
      if (hop == ranks_ - 2) return added;
      encoded = builder_.add(
          {.kind = StepKind::encode_acc, .piece = piece, .wire = piece, .acc = 0}, {added});
      acc_free = encoded;
      sent_[static_cast<std::size_t>(piece)] = send(piece, hop + 1, encoded);
    }
  }

  // The all-gather hops: messages first_message .. first_message + n-2.
  void gather(StepIndex own, int first_message) {
    send(rank_, first_message, own);
    for (int hop = 0; hop < ranks_ - 1; ++hop) {
      const int piece = behind(1 + hop);
      const StepIndex received =
          receive(piece, first_message + hop, sent_[static_cast<std::size_t>(piece)]);
      if (hop < ranks_ - 2) send(piece, first_message + hop + 1, received);
      builder_.add({.kind = StepKind::decode, .piece = piece, .wire = piece}, {received});
    }
  }

 private:
  int behind(int distance) const {
    return layout_.rank_at((layout_.place_of(rank_) + 2 * ranks_ - distance) % ranks_);
  }
  int left() const { return behind(1); }
  int right() const { return layout_.rank_at((layout_.place_of(rank_) + 1) % ranks_); }

  StepIndex send(int piece, int message, StepIndex after) {
    return builder_.add({.kind = StepKind::send,
                         .piece = piece,
                         .wire = piece,
                         .peer = right(),
                         .message = message},
                        {after});
  }
  StepIndex receive(int piece, int message, StepIndex after) {
    const StepIndex earlier =
        received_.size() < kReceivesAhead ? kNoStep : received_[received_.size() - kReceivesAhead];
    received_.push_back(builder_.add({.kind = StepKind::receive,
                                      .piece = piece,
                                      .wire = piece,
                                      .peer = left(),
                                      .message = message},
                                     {after, earlier}));
    return received_.back();
  }

  PlanBuilder& builder_;
  const Layout& layout_;
  int rank_;
  int ranks_;
  std::vector<StepIndex> received_;
  std::vector<StepIndex> sent_;  // per piece: the send that frees its wire slot
};

}  // namespace

Plan make_ring(Collective collective, int rank, const Layout& layout) {
  return compose("ring", collective, rank, layout,
                 [&](PlanBuilder& builder) { return Ring(builder, rank, layout); });
}

}  // namespace thinwire::collectives
