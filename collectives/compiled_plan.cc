#include "collectives/compiled_plan.h"

#include <algorithm>

#include "collectives/value_flow.h"

namespace thinwire::collectives {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Decides where every value and every sum lives.
class Placement {
 public:
  Placement(const ValueFlow& flow, Arithmetic arithmetic, bool in_place)
      : flow_(flow), arithmetic_(arithmetic), in_place_(in_place) {
    for (const AccChain& chain : flow_.chains) chains_.push_back(place_chain(chain));
    for (const WireValue& value : flow_.values) values_.push_back(place_value(value));
  }

  Place chain(std::int32_t index) const { return chains_[at(index)]; }
  Place value(std::int32_t index) const { return values_[at(index)]; }

  // Numbers the wire and accumulator slots that need memory from 0 on; returns how many.
  std::int32_t compact(Area area) {
    std::vector<std::int32_t> used;
    for (const std::vector<Place>* places : {&chains_, &values_}) {
      for (const Place& place : *places) {
        if (place.area == area) used.push_back(place.index);
      }
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (std::vector<Place>* places : {&chains_, &values_}) {
      for (Place& place : *places) {
        if (place.area != area) continue;
        const auto found = std::lower_bound(used.begin(), used.end(), place.index);
        place.index = static_cast<std::int32_t>(found - used.begin());
      }
    }
    return static_cast<std::int32_t>(used.size());
  }

 private:
  bool exact() const { return !is_lossy(arithmetic_); }

  // Sums are kept where the result belongs, or where the first term arrived, when that memory has
  // the accumulator's type and nobody else needs it meanwhile.
  Place place_chain(const AccChain& chain) const {
    const std::int32_t decoded =
        chain.encoded == kNone ? kNone : flow_.values[at(chain.encoded)].decode_piece;
    const bool native = arithmetic_ == Arithmetic::native;
    if (!is_widened(arithmetic_) && !in_place_ && chain.store_piece != kNone) {
      return {Area::output, chain.store_piece};
    }
    if (native && !in_place_ && decoded != kNone) return {Area::output, decoded};
    if (native && chain.source != kNone) {
      const WireValue& source = flow_.values[at(chain.source)];
      const bool slot_is_free =
          source.next_in_slot == kNone || source.next_in_slot == chain.encoded;
      if (source.origin == StepKind::receive && source.only_loaded && slot_is_free) {
        return {Area::wire, source.slot};
      }
    }
    return {Area::acc, chain.slot};
  }

  Place place_value(const WireValue& value) const {
    const Place own{Area::wire, value.slot};
    if (!exact()) return own;
    if (value.origin == StepKind::encode_input) return {Area::input, value.piece};
    if (value.origin == StepKind::encode_acc && arithmetic_ == Arithmetic::native) {
      const Place sum = chains_[at(value.chain)];
      const bool stays = sum.area != Area::acc || flow_.chains[at(value.chain)].last_in_slot;
      return stays ? sum : own;
    }
    if (value.loaded_by != kNone) {
      const Place sum = chains_[at(value.loaded_by)];
      const bool same = arithmetic_ == Arithmetic::native && value.only_loaded &&
                        (sum.area == Area::output || sum == own);
      return same ? sum : own;
    }
    if (value.decode_piece != kNone) return {Area::output, value.decode_piece};
    return own;
  }

  const ValueFlow& flow_;
  const Arithmetic arithmetic_;
  const bool in_place_;
  std::vector<Place> chains_;
  std::vector<Place> values_;
};

class Compiler {
 public:
  Compiler(const Plan& plan, Arithmetic arithmetic, bool in_place)
      : plan_(plan),
        lossy_(is_lossy(arithmetic)),
        native_(arithmetic == Arithmetic::native),
        flow_(analyse(plan)),
        places_(flow_, arithmetic, in_place) {}

  CompiledPlan run() {
    result_.wire_slots = plan_.wire_slots;
    result_.wire_regions = places_.compact(Area::wire);
    result_.acc_regions = places_.compact(Area::acc);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) result_.steps.push_back(translate(i));
    number_residuals();
    count_view_users();
    link_dependents();
    list_initial();
    return std::move(result_);
  }

 private:
  CompiledStep translate(std::size_t index) const {
    const Step& step = plan_.steps[index];
    CompiledStep out;
    out.piece = step.piece;
    out.wire = step.wire;
    out.peer = step.peer;
    out.message = step.message;
    out.level = step.level;
    set_places(step, index, out);
    out.action = action_of(step.kind, out.from == out.to);
    return out;
  }

  void set_places(const Step& step, std::size_t index, CompiledStep& out) const {
    const Place input{Area::input, step.piece};
    const Place output{Area::output, step.piece};
    const std::int32_t value = flow_.value_of[index];
    const std::int32_t chain = flow_.chain_of[index];
    const Place wire = value == kNone ? Place{} : places_.value(value);
    const Place acc = chain == kNone ? Place{} : places_.chain(chain);
    switch (step.kind) {
      case StepKind::encode_input:
        out.from = input, out.to = wire;
        break;
      case StepKind::load_input:
      case StepKind::add_input:
        out.from = input, out.to = acc;
        break;
      case StepKind::load_wire:
      case StepKind::add_wire:
        out.from = wire, out.to = acc;
        break;
      case StepKind::encode_acc:
        out.from = acc, out.to = wire;
        break;
      case StepKind::send:
      case StepKind::receive:
        out.from = wire, out.to = wire;
        break;
      case StepKind::decode:
        out.from = wire, out.to = output;
        break;
      case StepKind::store_acc:
        out.from = acc, out.to = output;
        break;
      case StepKind::copy_input:
        out.from = input, out.to = output;
        break;
    }
  }

  Action action_of(StepKind kind, bool same_place) const {
    switch (kind) {
      case StepKind::encode_input:
        return lossy_ ? Action::encode_elements : Action::nothing;
      case StepKind::load_input:
        return Action::load;
      case StepKind::add_input:
        return Action::reduce;
      case StepKind::load_wire:
        if (lossy_) return Action::decode_acc;
        return same_place ? Action::nothing : Action::load;
      case StepKind::add_wire:
        return lossy_ ? Action::decode_add : Action::reduce;
      case StepKind::encode_acc:
        if (lossy_) return Action::encode_acc;
        if (same_place) return Action::nothing;
        return native_ ? Action::copy : Action::store;
      case StepKind::send:
        return Action::send;
      case StepKind::receive:
        return Action::receive;
      case StepKind::decode:
        if (lossy_) return Action::decode_elements;
        return same_place ? Action::nothing : Action::copy;
      case StepKind::store_acc:
        return same_place ? Action::nothing : Action::store;
      case StepKind::copy_input:
        break;
    }
    return Action::copy;
  }

  void number_residuals() {
    std::vector<int> encodings(at(plan_.pieces));
    for (CompiledStep& step : result_.steps) {
      if (step.action != Action::encode_elements && step.action != Action::encode_acc) continue;
      step.residual = encodings[at(step.piece)]++;
      result_.residuals = std::max(result_.residuals, step.residual + 1);
    }
  }

  // In the order of the steps, in which everything that uses a region follows what was put there.
  void count_view_users() {
    std::vector<CompiledStep*> receives(at(result_.wire_regions));
    for (CompiledStep& step : result_.steps) {
      if (step.to.area == Area::wire && puts_anew(step.action)) {
        receives[at(step.to.index)] = step.action == Action::receive ? &step : nullptr;
      }
      if (step.action == Action::receive) continue;
      for_each_wire_region(step, [&](std::int32_t region) {
        if (receives[at(region)] != nullptr) ++receives[at(region)]->view_users;
      });
    }
  }

  // Sums grow where their first term arrived, and take no more room than it did.
  static bool puts_anew(Action action) {
    return action != Action::nothing && action != Action::reduce && action != Action::decode_add &&
           action != Action::send;
  }

  void link_dependents() {
    for (const StepIndex dependency : plan_.dependencies) {
      ++result_.steps[at(dependency)].dependent_count;
    }
    std::int32_t next = 0;
    for (CompiledStep& step : result_.steps) {
      step.first_dependent = next;
      next += step.dependent_count;
      step.dependent_count = 0;
    }
    result_.dependents.resize(at(next));
    for (StepIndex i = 0; i < static_cast<StepIndex>(plan_.steps.size()); ++i) {
      for (const StepIndex dependency : plan_.dependencies_of(plan_.steps[at(i)])) {
        CompiledStep& step = result_.steps[at(dependency)];
        result_.dependents[at(step.first_dependent + step.dependent_count++)] = i;
      }
      result_.dependency_counts.push_back(plan_.steps[at(i)].dependency_count);
    }
  }

  void list_initial() {
    for (const bool receives : {true, false}) {
      for (StepIndex i = 0; i < static_cast<StepIndex>(plan_.steps.size()); ++i) {
        const Step& step = plan_.steps[at(i)];
        if (step.dependency_count == 0 && (step.kind == StepKind::receive) == receives) {
          result_.initial.push_back(i);
        }
      }
    }
  }

  const Plan& plan_;
  const bool lossy_;
  const bool native_;
  const ValueFlow flow_;
  Placement places_;
  CompiledPlan result_;
};

}  // namespace

CompiledPlan compile(const Plan& plan, Arithmetic arithmetic, bool in_place) {
  return Compiler(plan, arithmetic, in_place).run();
}

}  // namespace thinwire::collectives
