#include "collectives/plan.h"

#include <algorithm>

namespace thinwire::collectives {
namespace {

const char* name_of(StepKind kind) {
  constexpr const char* kNames[] = {"encode_input", "load_input", "add_input", "load_wire",
                                    "add_wire",     "encode_acc", "send",      "receive",
                                    "decode",       "store_acc",  "copy_input"};
  return kNames[static_cast<int>(kind)];
}

const char* name_of(Collective collective) {
  constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter"};
  return kNames[static_cast<int>(collective)];
}

void append_field(std::string& text, const char* name, std::int32_t value) {
  if (value >= 0) text += std::string(" ") + name + std::to_string(value);
}

}  // namespace

std::string step_text(const Plan& plan, StepIndex index) {
  const Step& step = plan.steps[static_cast<std::size_t>(index)];
  std::string text = std::to_string(index) + ": " + name_of(step.kind);
  append_field(text, "p", step.piece);
  append_field(text, "w", step.wire);
  append_field(text, "a", step.acc);
  append_field(text, step.kind == StepKind::send ? "to " : "from ", step.peer);
  append_field(text, "m", step.message);
  append_field(text, "l", step.level);
  const char* separator = " after ";
  for (const StepIndex dependency : plan.dependencies_of(step)) {
    text += separator + std::to_string(dependency);
    separator = ",";
  }
  return text;
}

std::string to_text(const Plan& plan) {
  std::string text = plan.schedule + " " + name_of(plan.collective) + " rank " +
                     std::to_string(plan.rank) + " of " + std::to_string(plan.ranks) + ": pieces " +
                     std::to_string(plan.pieces) + ", wire slots " +
                     std::to_string(plan.wire_slots) + ", acc slots " +
                     std::to_string(plan.acc_slots) + "\n";
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    text += step_text(plan, static_cast<StepIndex>(i)) + "\n";
  }
  return text;
}

std::vector<int> peers_of(const Plan& plan) {
  std::vector<int> peers;
  for (const Step& step : plan.steps) {
    if (step.peer >= 0) peers.push_back(step.peer);
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace thinwire::collectives
