#include "collectives/checker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace thinwire::collectives {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

using Expression = std::int32_t;  // index into Expressions; equal indices are equal expressions
inline constexpr Expression kNothing = -1;

// Hash-consed terms over inputs: input(rank, piece), rounded(x) (through the wire format), sum.
class Expressions {
 public:
  Expression input(int rank, int piece) { return node({Kind::input, rank, piece}); }
  Expression rounded(Expression of) { return node({Kind::rounded, of, kNothing}); }
  Expression sum(Expression left, Expression right) { return node({Kind::sum, left, right}); }

  // How often each rank's contribution to `piece` is in `expression`; "" when it holds no other.
  std::string count_contributions(Expression expression, int piece,
                                  std::vector<int>& counts) const {
    std::vector<Expression> open{expression};
    while (!open.empty()) {
      const Node& node = nodes_[at(open.back())];
      open.pop_back();
      if (node.kind == Kind::input) {
        if (node.right != piece) return "holds an element of piece " + std::to_string(node.right);
        ++counts[at(node.left)];
        continue;
      }
      open.push_back(node.left);
      if (node.kind == Kind::sum) open.push_back(node.right);
    }
    return {};
  }

 private:
  enum class Kind : std::int32_t { input, rounded, sum };
  struct Node {
    Kind kind;
    std::int32_t left;
    std::int32_t right;
    bool operator==(const Node&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Node& node) const {
      const auto left = static_cast<std::uint64_t>(static_cast<std::uint32_t>(node.left));
      const auto right = static_cast<std::uint64_t>(static_cast<std::uint32_t>(node.right));
      const auto kind = static_cast<std::uint64_t>(node.kind);
      return ((left << 32 | right) ^ kind << 62) * 0x9E3779B97F4A7C15u >> 20;
    }
  };

  Expression node(const Node& wanted) {
    const auto [found, is_new] = index_.try_emplace(wanted, static_cast<Expression>(nodes_.size()));
    if (is_new) nodes_.push_back(wanted);
    return found->second;
  }

  std::vector<Node> nodes_;
  std::unordered_map<Node, Expression, Hash> index_;
};

struct RankState {
  std::vector<Expression> wire;
  std::vector<Expression> acc;
  std::vector<Expression> output;
  std::vector<std::int32_t> missing;  // per step: dependencies not yet run
  std::vector<bool> done;
  StepIndex first_open = 0;  // all steps before it are done
};

struct Message {
  Expression value = kNothing;
  std::int32_t piece = -1;
  bool received = false;
};

class GroupChecker {
 public:
  explicit GroupChecker(std::span<const Plan> plans) : plans_(plans) {}

  std::string check() {
    std::string error = check_shapes();
    for (std::size_t r = 0; error.empty() && r < plans_.size(); ++r) error = check_plan(plans_[r]);
    if (error.empty()) error = run();
    for (std::size_t r = 0; error.empty() && r < plans_.size(); ++r) error = check_outputs(r);
    return error;
  }

 private:
  using MessageKey = std::tuple<int, int, int>;  // from, to, message

  std::string check_shapes() const {
    if (plans_.empty()) return "no plans";
    for (std::size_t r = 0; r < plans_.size(); ++r) {
      const Plan& plan = plans_[r];
      if (plan.rank != static_cast<int>(r) || plan.ranks != static_cast<int>(plans_.size()) ||
          plan.pieces != plan.ranks || plan.collective != plans_[0].collective) {
        return "plan " + std::to_string(r) + " is of another rank, group or collective";
      }
    }
    return {};
  }

  std::string complain(std::size_t rank, StepIndex step, const std::string& what) const {
    return "rank " + std::to_string(rank) + ", step " + step_text(plans_[rank], step) + ": " + what;
  }

  void prepare() {
    states_.resize(plans_.size());
    for (std::size_t r = 0; r < plans_.size(); ++r) {
      const Plan& plan = plans_[r];
      states_[r].wire.assign(at(plan.wire_slots), kNothing);
      states_[r].acc.assign(at(plan.acc_slots), kNothing);
      states_[r].output.assign(at(plan.pieces), kNothing);
      states_[r].done.assign(plan.steps.size(), false);
    }
  }

  // Repeats passes over all steps until no pass gets anything done.
  std::string run() {
    prepare();
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < plans_.size(); ++r) {
        StepIndex& first_open = states_[r].first_open;
        for (StepIndex i = first_open; i < static_cast<StepIndex>(plans_[r].steps.size()); ++i) {
          if (i == first_open && states_[r].done[at(i)]) ++first_open;
          if (states_[r].done[at(i)] || !may_run(r, i)) continue;
          const std::string error = run_step(r, i);
          if (!error.empty()) return error;
          states_[r].done[at(i)] = true;
          moved = true;
        }
      }
    }
    return check_leftovers();
  }

  bool may_run(std::size_t rank, StepIndex index) const {
    const Step& step = plans_[rank].steps[at(index)];
    for (const StepIndex dependency : plans_[rank].dependencies_of(step)) {
      if (!states_[rank].done[at(dependency)]) return false;
    }
    if (step.kind != StepKind::receive) return true;
    return messages_.contains({step.peer, static_cast<int>(rank), step.message});
  }

  // An exact copy in all_gather; elsewhere the wire may round.
  Expression through_wire(Expression value) {
    return plans_[0].collective == Collective::all_gather ? value : expressions_.rounded(value);
  }

  std::string run_step(std::size_t rank, StepIndex index) {
    const Step& step = plans_[rank].steps[at(index)];
    RankState& state = states_[rank];
    const auto input = [&] { return expressions_.input(static_cast<int>(rank), step.piece); };
    switch (step.kind) {
      case StepKind::encode_input:
        state.wire[at(step.wire)] = through_wire(input());
        return {};
      case StepKind::load_input:
        state.acc[at(step.acc)] = input();
        return {};
      case StepKind::add_input:
        state.acc[at(step.acc)] = expressions_.sum(state.acc[at(step.acc)], input());
        return {};
      case StepKind::load_wire:
        state.acc[at(step.acc)] = state.wire[at(step.wire)];
        return {};
      case StepKind::add_wire:
        state.acc[at(step.acc)] =
            expressions_.sum(state.acc[at(step.acc)], state.wire[at(step.wire)]);
        return {};
      case StepKind::encode_acc:
        state.wire[at(step.wire)] = through_wire(state.acc[at(step.acc)]);
        return {};
      case StepKind::send:
        return send(rank, index);
      case StepKind::receive:
        return receive(rank, index);
      case StepKind::decode:
        return write_output(rank, index, state.wire[at(step.wire)]);
      case StepKind::store_acc:
        return write_output(rank, index, state.acc[at(step.acc)]);
      case StepKind::copy_input:
        return write_output(rank, index, input());
    }
    return complain(rank, index, "unknown kind");
  }

  std::string send(std::size_t rank, StepIndex index) {
    const Step& step = plans_[rank].steps[at(index)];
    const Message message{states_[rank].wire[at(step.wire)], step.piece};
    const bool is_new =
        messages_.try_emplace({static_cast<int>(rank), step.peer, step.message}, message).second;
    return is_new ? std::string() : complain(rank, index, "the message number is used twice");
  }

  std::string receive(std::size_t rank, StepIndex index) {
    const Step& step = plans_[rank].steps[at(index)];
    Message& message = messages_.at({step.peer, static_cast<int>(rank), step.message});
    if (message.received) return complain(rank, index, "the message was received already");
    if (message.piece != step.piece) {
      return complain(rank, index,
                      "the sender's message is of piece " + std::to_string(message.piece));
    }
    message.received = true;
    states_[rank].wire[at(step.wire)] = message.value;
    return {};
  }

  std::string write_output(std::size_t rank, StepIndex index, Expression value) {
    Expression& output = states_[rank].output[at(plans_[rank].steps[at(index)].piece)];
    if (output != kNothing) return complain(rank, index, "the output is written twice");
    output = value;
    return {};
  }

  std::string check_leftovers() const {
    for (std::size_t r = 0; r < plans_.size(); ++r) {
      const auto stuck = std::find(states_[r].done.begin(), states_[r].done.end(), false);
      if (stuck != states_[r].done.end()) {
        return complain(r, static_cast<StepIndex>(stuck - states_[r].done.begin()),
                        "never runs: what it waits for is not sent, or waits for it");
      }
    }
    for (const auto& [key, message] : messages_) {
      if (message.received) continue;
      return "message " + std::to_string(std::get<2>(key)) + " from rank " +
             std::to_string(std::get<0>(key)) + " to rank " + std::to_string(std::get<1>(key)) +
             " is never received";
    }
    return {};
  }

  std::string check_outputs(std::size_t rank) const {
    for (int piece = 0; piece < plans_[rank].pieces; ++piece) {
      const std::string error = check_output(rank, piece);
      if (!error.empty()) {
        return "rank " + std::to_string(rank) + ", output " + std::to_string(piece) + ": " + error;
      }
    }
    return {};
  }

  std::string check_output(std::size_t rank, int piece) const {
    const Expression value = states_[rank].output[at(piece)];
    const Collective collective = plans_[rank].collective;
    const bool promised =
        collective != Collective::reduce_scatter || piece == static_cast<int>(rank);
    if (promised != (value != kNothing)) return promised ? "never written" : "written needlessly";
    if (!promised) return {};
    const bool shared = collective != Collective::reduce_scatter;
    // Rank 0's has been looked at.
    if (shared && rank > 0 && value == states_[0].output[at(piece)]) return {};
    std::vector<int> counts(plans_.size(), 0);
    const std::string foreign = expressions_.count_contributions(value, piece, counts);
    if (!foreign.empty()) return foreign;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      const int expected =
          collective != Collective::all_gather || piece == static_cast<int>(r) ? 1 : 0;
      if (counts[r] == expected) continue;
      return "holds rank " + std::to_string(r) + "'s contribution " + std::to_string(counts[r]) +
             " times instead of " + std::to_string(expected);
    }
    return shared && rank > 0 ? "its terms, their order or their rounding differ from rank 0's"
                              : "";
  }

  std::span<const Plan> plans_;
  Expressions expressions_;
  std::vector<RankState> states_;
  std::map<MessageKey, Message> messages_;
};

}  // namespace

std::string check_plans(std::span<const Plan> plans) { return GroupChecker(plans).check(); }

}  // namespace thinwire::collectives
