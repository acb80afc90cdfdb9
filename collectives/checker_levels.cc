#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/checker.h"
#include "collectives/value_flow.h"

namespace thinwire::collectives {
namespace {

// Follows every wire value from the rank that encoded it through those that pass it on.
class LevelChecker {
 public:
  LevelChecker(std::span<const Plan> plans, const Layout& layout)
      : plans_(plans), layout_(layout) {}

  std::string check() {
    for (const Plan& plan : plans_) flows_.push_back(analyse(plan));
    for (std::size_t r = 0; r < plans_.size(); ++r) list_messages(r);
    for (std::size_t r = 0; r < plans_.size(); ++r) climb(r);
    for (std::size_t r = 0; r < plans_.size(); ++r) {
      const std::string error = compare(r);
      if (!error.empty()) return error;
    }
    return {};
  }

 private:
  using Value = std::pair<std::size_t, std::int32_t>;  // rank, index into its flow's values
  using MessageKey = std::tuple<int, int, int>;        // from, to, message

  void list_messages(std::size_t rank) {
    for (std::size_t i = 0; i < plans_[rank].steps.size(); ++i) {
      const Step& step = plans_[rank].steps[i];
      const Value value{rank, flows_[rank].value_of[i]};
      if (step.kind == StepKind::send) {
        sent_[{static_cast<int>(rank), step.peer, step.message}] = value;
      } else if (step.kind == StepKind::receive) {
        received_[value] = {step.peer, static_cast<int>(rank), step.message};
      }
    }
  }

  Value origin(Value value) const {
    for (auto from = received_.find(value); from != received_.end(); from = received_.find(value)) {
      value = sent_.at(from->second);
    }
    return value;
  }

  void climb(std::size_t rank) {
    for (std::size_t i = 0; i < plans_[rank].steps.size(); ++i) {
      const Step& step = plans_[rank].steps[i];
      if (step.kind != StepKind::send) continue;
      int& level = levels_[origin({rank, flows_[rank].value_of[i]})];
      level = std::max(level, layout_.level(static_cast<int>(rank), step.peer));
    }
  }

  std::string compare(std::size_t rank) const {
    for (std::size_t i = 0; i < plans_[rank].steps.size(); ++i) {
      const std::int32_t value = flows_[rank].value_of[i];
      const auto found = value == kNone ? levels_.end() : levels_.find(origin({rank, value}));
      const int expected = value == kNone ? -1 : found == levels_.end() ? 0 : found->second;
      if (plans_[rank].steps[i].level == expected) continue;
      return "rank " + std::to_string(rank) + ", step " +
             step_text(plans_[rank], static_cast<StepIndex>(i)) + ": the level should be " +
             std::to_string(expected);
    }
    return {};
  }

  std::span<const Plan> plans_;
  const Layout& layout_;
  std::vector<ValueFlow> flows_;
  std::map<MessageKey, Value> sent_;
  std::map<Value, MessageKey> received_;
  std::map<Value, int> levels_;  // of values by origin
};

}  // namespace

std::string check_levels(std::span<const Plan> plans, const Layout& layout) {
  return LevelChecker(plans, layout).check();
}

}  // namespace thinwire::collectives
