#include "collectives/schedules/relay.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "collectives/plan_builder.h"

namespace thinwire::collectives {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Messages of one peer arrive in the order of the rounds, so a few receives ahead are enough; see
// EngineOptions::max_tiles.
constexpr std::size_t kReceivesAhead = 4;

class Relay {
 public:
  Relay(PlanBuilder& builder, const Layout& layout, const Routes& routes, int rank)
      : builder_(builder),
        layout_(layout),
        routes_(routes),
        rank_(rank),
        node_(layout.place_of(rank)),
        ranks_(layout.ranks()),
        sent_(at(ranks_), kNoStep) {
    acc_free_.fill(kNoStep);
  }

  int reduce_messages() const { return ranks_; }

  StepIndex reduce() {
    std::vector<Terms> terms(at(ranks_));
    for (const Event& event : events([](int round) { return round; })) {
      Terms& of_piece = terms[at(event.piece)];
      if (event.from_child) {
        receive_term(event, of_piece);
      } else {
        send_partial(event, of_piece);
      }
    }
    return sum(rank_, terms[at(rank_)], 0);
  }

  void gather(StepIndex own, int first_message) {
    std::vector<StepIndex> there(at(ranks_), kNoStep);
    there[at(rank_)] = own;
    const int last = routes_.rounds() - 1;
    for (const Event& event : events([last](int round) { return last - round; })) {
      StepIndex& value = there[at(event.piece)];
      const Step message{.piece = event.piece,
                         .wire = event.piece,
                         .peer = event.peer,
                         .message = first_message + event.piece};
      if (event.from_child) {
        send(message, value);
        continue;
      }
      value = receive(message, sent_[at(event.piece)]);
      builder_.add({.kind = StepKind::decode, .piece = event.piece, .wire = event.piece}, {value});
    }
  }

 private:
  // A message of this rank; `from_child` is meant on the way to the owner.
  struct Event {
    int round;
    int piece;
    int peer;
    bool from_child;
  };
  // What arrived for a sum, and where it lies.
  struct Terms {
    std::vector<StepIndex> received;
    std::vector<std::int32_t> slots;
  };

  // All messages of one direction, ordered alike at both ends of every link.
  template <class RoundOf>
  std::vector<Event> events(RoundOf round_of) const {
    std::vector<Event> all;
    std::vector<Edge> children;
    for (int place = 0; place < ranks_; ++place) {
      const int piece = layout_.rank_at(place);
      const auto add = [&](const Edge& edge, bool from_child) {
        all.push_back({round_of(edge.round), piece, layout_.rank_at(edge.node), from_child});
      };
      children.clear();
      routes_.add_children(place, node_, children);
      for (const Edge& child : children) add(child, true);
      const Edge parent = routes_.parent(place, node_);
      if (parent.node != kNoNode) add(parent, false);
    }
    std::sort(all.begin(), all.end(), [](const Event& a, const Event& b) {
      return std::tie(a.round, a.piece, a.peer) < std::tie(b.round, b.piece, b.peer);
    });
    return all;
  }

  void receive_term(const Event& event, Terms& terms) {
    const bool first = terms.slots.empty();
    const std::int32_t slot = first ? event.piece : ranks_ + further_slots_++;
    terms.slots.push_back(slot);
    terms.received.push_back(receive(
        {.piece = event.piece, .wire = slot, .peer = event.peer, .message = event.piece}, kNoStep));
  }

  void send_partial(const Event& event, const Terms& terms) {
    const std::int32_t piece = event.piece;
    Step encode{.kind = StepKind::encode_input, .piece = piece, .wire = piece};
    StepIndex after = kNoStep;
    if (!terms.slots.empty()) {
      encode.kind = StepKind::encode_acc;
      encode.acc = next_acc_++ % kRelayAccumulators;
      after = sum(piece, terms, encode.acc);
    }
    const StepIndex encoded = builder_.add(encode, {after});
    if (encode.acc >= 0) acc_free_[at(encode.acc)] = encoded;
    sent_[at(piece)] =
        send({.piece = piece, .wire = piece, .peer = event.peer, .message = piece}, encoded);
  }

  // Requires terms. Returns the last addition.
  StepIndex sum(std::int32_t piece, const Terms& terms, std::int32_t acc) {
    std::vector<StepIndex> after = terms.received;
    after.push_back(acc_free_[at(acc)]);
    Step step{.kind = StepKind::load_wire, .piece = piece, .wire = terms.slots[0], .acc = acc};
    StepIndex last = builder_.add(step, after);
    last = builder_.add({.kind = StepKind::add_input, .piece = piece, .acc = acc}, {last});
    step.kind = StepKind::add_wire;
    for (std::size_t i = 1; i < terms.slots.size(); ++i) {
      step.wire = terms.slots[i];
      last = builder_.add(step, {last});
    }
    return last;
  }

  StepIndex send(Step message, StepIndex after) {
    message.kind = StepKind::send;
    return builder_.add(message, {after});
  }
  StepIndex receive(Step message, StepIndex after) {
    message.kind = StepKind::receive;
    std::vector<StepIndex>& earlier = received_[message.peer];
    const StepIndex paced =
        earlier.size() < kReceivesAhead ? kNoStep : earlier[earlier.size() - kReceivesAhead];
    earlier.push_back(builder_.add(message, {after, paced}));
    return earlier.back();
  }

  PlanBuilder& builder_;
  const Layout& layout_;
  const Routes& routes_;
  const int rank_;
  const int node_;
  const int ranks_;
  std::int32_t further_slots_ = 0;
  int next_acc_ = 0;
  // A sum holds its accumulator only while it is computed, all terms being there; several let sums
  // whose terms come over different links pass one another.
  std::array<StepIndex, kRelayAccumulators> acc_free_;  // the step after which each may be reused
  std::vector<StepIndex> sent_;                     // per piece: the send that frees its wire slot
  std::map<int, std::vector<StepIndex>> received_;  // per peer
};

}  // namespace

Plan make_relay(const char* name, Collective collective, int rank, const Layout& layout,
                const Routes& routes) {
  return compose(name, collective, rank, layout,
                 [&](PlanBuilder& builder) { return Relay(builder, layout, routes, rank); });
}

}  // namespace thinwire::collectives
