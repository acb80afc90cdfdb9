#include "collectives/schedules/exchange.h"

#include <array>
#include <vector>

#include "collectives/plan_builder.h"
#include "collectives/schedules/direct.h"

namespace thinwire::collectives {
namespace {

// Contributions to this many pieces are received at once, and as many sums are under way.
constexpr int kPiecesAhead = 2;

class Exchange {
 public:
  Exchange(PlanBuilder& builder, int rank, int ranks)
      : builder_(builder),
        rank_(rank),
        ranks_(ranks),
        added_(std::size_t{kPiecesAhead} * static_cast<std::size_t>(ranks), kNoStep) {
    stored_.fill(kNoStep);
  }

  void add_piece(int piece) {
    std::vector<StepIndex> arrived;
    arrived.reserve(static_cast<std::size_t>(ranks_));
    for (int from = 0; from < ranks_; ++from) {
      arrived.push_back(from == rank_ ? kNoStep : receive(piece, from));
    }
    const StepIndex encoded =
        builder_.add({.kind = StepKind::encode_input, .piece = piece, .wire = piece});
    arrived[static_cast<std::size_t>(rank_)] = encoded;
    // The result may take the place of the input that these read.
    std::vector<StepIndex> before_store;
    for (int distance = 1; distance < ranks_; ++distance) {
      const int to = (rank_ + distance) % ranks_;
      before_store.push_back(builder_.add(
          {.kind = StepKind::send, .piece = piece, .wire = piece, .peer = to, .message = piece},
          {encoded}));
    }
    before_store.push_back(sum(piece, arrived));
    StepIndex& stored = stored_[static_cast<std::size_t>(piece % kPiecesAhead)];
    stored = builder_.add(
        {.kind = StepKind::store_acc, .piece = piece, .acc = piece % kPiecesAhead}, before_store);
  }

 private:
  StepIndex& added(int piece, int from) {
    const int index = piece % kPiecesAhead * ranks_ + from;
    return added_[static_cast<std::size_t>(index)];
  }
  int slot(int piece, int from) const {
    if (from == rank_) return piece;
    return ranks_ + piece % kPiecesAhead * (ranks_ - 1) + (from < rank_ ? from : from - 1);
  }

  StepIndex receive(int piece, int from) {
    return builder_.add({.kind = StepKind::receive,
                         .piece = piece,
                         .wire = slot(piece, from),
                         .peer = from,
                         .message = piece},
                        {added(piece, from)});
  }

  StepIndex sum(int piece, const std::vector<StepIndex>& arrived) {
    StepIndex last = stored_[static_cast<std::size_t>(piece % kPiecesAhead)];
    for (int from = 0; from < ranks_; ++from) {
      last = builder_.add({.kind = from == 0 ? StepKind::load_wire : StepKind::add_wire,
                           .piece = piece,
                           .wire = slot(piece, from),
                           .acc = piece % kPiecesAhead},
                          {arrived[static_cast<std::size_t>(from)], last});
      added(piece, from) = last;
    }
    return last;
  }

  PlanBuilder& builder_;
  int rank_;
  int ranks_;
  std::vector<StepIndex> added_;  // per slot of contributions: the step that frees it
  std::array<StepIndex, kPiecesAhead> stored_;
};

}  // namespace

Plan make_exchange(Collective collective, int rank, const Layout& layout) {
  const int ranks = layout.ranks();
  if (collective != Collective::all_reduce || ranks == 1 || ranks > kMaxExchangeRanks) {
    return make_direct(collective, rank, layout);
  }
  PlanBuilder builder("exchange", collective, rank, layout);
  Exchange exchange(builder, rank, ranks);
  for (int piece = 0; piece < ranks; ++piece) exchange.add_piece(piece);
  return builder.finish(0);
}

}  // namespace thinwire::collectives
