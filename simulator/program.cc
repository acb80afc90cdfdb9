#include "simulator/program.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace thinwire::simulator {
namespace {

using collectives::Action;
using collectives::CompiledPlan;
using collectives::CompiledStep;
using collectives::Layout;
using collectives::Plan;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

bool is_message(Action action) { return action == Action::send || action == Action::receive; }

// Names the messages of a rank in the order of its Plan.
class Keys {
 public:
  Keys(int place, int ranks) : place_(place), ranks_(ranks) {}

  MessageKey next(bool sends, int peer, int piece) {
    const auto occurrence = static_cast<MessageKey>(seen_[{sends, peer, piece}]++);
    const int receiver = sends ? peer : place_;
    const int sender = sends ? place_ : peer;
    return static_cast<MessageKey>((sender - receiver + ranks_) % ranks_) << 40 |
           static_cast<MessageKey>((piece - receiver + ranks_) % ranks_) << 16 | occurrence;
  }

 private:
  const int place_;
  const int ranks_;
  std::map<std::tuple<bool, int, int>, int> seen_;
};

class ProgramMaker {
 public:
  ProgramMaker(const Plan& plan, const CompiledPlan& compiled, const Layout& layout,
               const std::function<bool(int)>& empty)
      : plan_(plan),
        compiled_(compiled),
        layout_(layout),
        empty_(empty),
        keys_(layout.place_of(plan.rank), layout.ranks()) {}

  Program run() {
    result_.wire_regions = compiled_.wire_regions;
    result_.acc_regions = compiled_.acc_regions;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) add(i);
    link_dependents();
    std::sort(result_.receives.begin(), result_.receives.end());
    return std::move(result_);
  }

 private:
  // A step that takes no time hands on what it waits for.
  void add(std::size_t index) {
    std::vector<std::int32_t> after = needs(plan_.steps[index]);
    const CompiledStep& compiled = compiled_.steps[index];
    const int piece = layout_.place_of(compiled.piece);
    if (compiled.action == Action::nothing || empty_(piece)) {
      needs_.push_back(std::move(after));
      return;
    }
    ProgramStep step{.action = compiled.action, .level = compiled.level, .piece = piece};
    step.waits_for = static_cast<std::int32_t>(after.size());
    const auto own = static_cast<std::int32_t>(result_.steps.size());
    if (is_message(step.action)) name(step, compiled.peer, own);
    result_.steps.push_back(step);
    after_.push_back(std::move(after));
    needs_.push_back({own});
  }

  std::vector<std::int32_t> needs(const collectives::Step& step) const {
    std::vector<std::int32_t> after;
    for (const collectives::StepIndex dependency : plan_.dependencies_of(step)) {
      const std::vector<std::int32_t>& more = needs_[at(dependency)];
      after.insert(after.end(), more.begin(), more.end());
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    return after;
  }

  void name(ProgramStep& step, int peer_rank, std::int32_t own) {
    const bool sends = step.action == Action::send;
    step.peer = layout_.place_of(peer_rank);
    step.key = keys_.next(sends, step.peer, step.piece);
    if (sends) return;
    ++step.waits_for;
    result_.receives.emplace_back(step.key, own);
  }

  void link_dependents() {
    for (const auto& after : after_) {
      for (const std::int32_t earlier : after) ++result_.steps[at(earlier)].dependent_count;
    }
    std::int32_t next = 0;
    for (ProgramStep& step : result_.steps) {
      step.first_dependent = next;
      next += step.dependent_count;
      step.dependent_count = 0;
    }
    result_.dependents.resize(at(next));
    for (std::size_t i = 0; i < after_.size(); ++i) {
      for (const std::int32_t earlier : after_[i]) {
        ProgramStep& step = result_.steps[at(earlier)];
        result_.dependents[at(step.first_dependent + step.dependent_count++)] =
            static_cast<std::int32_t>(i);
      }
    }
  }

  const Plan& plan_;
  const CompiledPlan& compiled_;
  const Layout& layout_;
  const std::function<bool(int)>& empty_;
  Program result_;
  std::vector<std::vector<std::int32_t>> needs_;  // per step of the Plan, in steps of the Program
  std::vector<std::vector<std::int32_t>> after_;  // per step of the Program
  Keys keys_;
};

}  // namespace

std::int32_t Program::receiver_of(MessageKey key) const {
  const auto found = std::lower_bound(receives.begin(), receives.end(), std::pair(key, 0));
  return found == receives.end() || found->first != key ? -1 : found->second;
}

Program make_program(const Plan& plan, collectives::Arithmetic arithmetic, const Layout& layout,
                     const std::function<bool(int)>& empty) {
  const CompiledPlan compiled = collectives::compile(plan, arithmetic, true);
  return ProgramMaker(plan, compiled, layout, empty).run();
}

Exchange exchange_of(const Plan& plan, const Layout& layout) {
  const int ranks = layout.ranks();
  const int place = layout.place_of(plan.rank);
  Keys keys(place, ranks);
  Exchange all;
  for (const collectives::Step& step : plan.steps) {
    const bool sends = step.kind == collectives::StepKind::send;
    if (!sends && step.kind != collectives::StepKind::receive) continue;
    const int peer = layout.place_of(step.peer);
    const MessageKey key = keys.next(sends, peer, layout.place_of(step.piece));
    all.emplace_back(sends, (peer - place + ranks) % ranks, key);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace thinwire::simulator
