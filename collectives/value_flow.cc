#include "collectives/value_flow.h"

#include <utility>

namespace thinwire::collectives {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class Analysis {
 public:
  explicit Analysis(const Plan& plan)
      : plan_(plan), value_in_(at(plan.wire_slots), kNone), chain_in_(at(plan.acc_slots), kNone) {}

  ValueFlow run() {
    for (const Step& step : plan_.steps) visit(step);
    return std::move(flow_);
  }

 private:
  void visit(const Step& step) {
    const std::int32_t read = step.wire < 0 ? kNone : value_in_[at(step.wire)];
    if (step.kind == StepKind::load_input || step.kind == StepKind::load_wire) {
      begin_chain(step, step.kind == StepKind::load_wire ? read : kNone);
    }
    const std::int32_t chain = step.acc < 0 ? kNone : chain_in_[at(step.acc)];
    std::int32_t value = read;
    switch (step.kind) {
      case StepKind::encode_input:
      case StepKind::receive:
        value = begin_value(step, kNone);
        break;
      case StepKind::encode_acc:
        value = begin_value(step, chain);
        flow_.chains[at(chain)].encoded = value;
        break;
      case StepKind::store_acc:
        flow_.chains[at(chain)].store_piece = step.piece;
        break;
      case StepKind::decode:
        flow_.values[at(read)].decode_piece = step.piece;
        break;
      default:
        break;
    }
    if (value == read && value != kNone && step.kind != StepKind::load_wire) {
      flow_.values[at(value)].only_loaded = false;
    }
    flow_.value_of.push_back(value);
    flow_.chain_of.push_back(chain);
  }

  void begin_chain(const Step& step, std::int32_t source) {
    const auto chain = static_cast<std::int32_t>(flow_.chains.size());
    std::int32_t& current = chain_in_[at(step.acc)];
    if (current != kNone) flow_.chains[at(current)].last_in_slot = false;
    current = chain;
    flow_.chains.push_back({.slot = step.acc, .source = source});
    if (source == kNone) return;
    WireValue& loaded = flow_.values[at(source)];
    loaded.only_loaded = loaded.only_loaded && loaded.loaded_by == kNone;
    loaded.loaded_by = chain;
  }

  std::int32_t begin_value(const Step& step, std::int32_t chain) {
    const auto value = static_cast<std::int32_t>(flow_.values.size());
    std::int32_t& current = value_in_[at(step.wire)];
    if (current != kNone) flow_.values[at(current)].next_in_slot = value;
    current = value;
    flow_.values.push_back(
        {.origin = step.kind, .slot = step.wire, .piece = step.piece, .chain = chain});
    return value;
  }

  const Plan& plan_;
  ValueFlow flow_;
  std::vector<std::int32_t> value_in_;  // per wire slot: the value it holds now
  std::vector<std::int32_t> chain_in_;  // per accumulator slot
};

}  // namespace

ValueFlow analyse(const Plan& plan) { return Analysis(plan).run(); }

}  // namespace thinwire::collectives
