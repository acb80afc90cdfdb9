#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/checker.h"

namespace thinwire::collectives {
namespace {

// What a step does to one slot or piece.
enum class Access : std::uint8_t { read, write, update };

struct Use {
  StepIndex step;
  Access access;
};

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

bool uses_wire(StepKind kind) {
  switch (kind) {
    case StepKind::load_input:
    case StepKind::add_input:
    case StepKind::store_acc:
    case StepKind::copy_input:
      return false;
    default:
      return true;
  }
}

bool uses_acc(StepKind kind) {
  switch (kind) {
    case StepKind::load_input:
    case StepKind::add_input:
    case StepKind::load_wire:
    case StepKind::add_wire:
    case StepKind::encode_acc:
    case StepKind::store_acc:
      return true;
    default:
      return false;
  }
}

bool travels(StepKind kind) { return kind == StepKind::send || kind == StepKind::receive; }

Access wire_access(StepKind kind) {
  const bool writes =
      kind == StepKind::encode_input || kind == StepKind::encode_acc || kind == StepKind::receive;
  return writes ? Access::write : Access::read;
}

Access acc_access(StepKind kind) {
  if (kind == StepKind::load_input || kind == StepKind::load_wire) return Access::write;
  if (kind == StepKind::add_input || kind == StepKind::add_wire) return Access::update;
  return Access::read;
}

class LocalChecker {
 public:
  explicit LocalChecker(const Plan& plan) : plan_(plan), words_((plan.steps.size() + 63) / 64) {}

  std::string check() {
    for (StepIndex i = 0; i < static_cast<StepIndex>(plan_.steps.size()); ++i) {
      const std::string error = check_fields(i);
      if (!error.empty()) return error;
    }
    build_ancestors();
    std::string error = check_slots(plan_.wire_slots, "wire slot", wire_uses());
    if (error.empty()) error = check_slots(plan_.acc_slots, "accumulator slot", acc_uses());
    if (error.empty()) error = check_in_place();
    return error;
  }

 private:
  using SlotUses = std::vector<std::vector<Use>>;

  std::string complain(StepIndex step, const std::string& what) const {
    return "rank " + std::to_string(plan_.rank) + ", step " + step_text(plan_, step) + ": " + what;
  }

  std::string check_fields(StepIndex index) const {
    const Step& step = plan_.steps[at(index)];
    if (step.first_dependency < 0 || step.dependency_count < 0 ||
        at(step.first_dependency) + at(step.dependency_count) > plan_.dependencies.size()) {
      return "rank " + std::to_string(plan_.rank) + ": a step's dependencies lie outside the list";
    }
    for (const StepIndex dependency : plan_.dependencies_of(step)) {
      if (dependency < 0 || dependency >= index) return complain(index, "depends on a later step");
    }
    const bool wire = uses_wire(step.kind);
    const bool acc = uses_acc(step.kind);
    if (step.piece < 0 || step.piece >= plan_.pieces) return complain(index, "no such piece");
    if (wire != (step.wire >= 0) || step.wire >= plan_.wire_slots) {
      return complain(index, "no such wire slot");
    }
    if (acc != (step.acc >= 0) || step.acc >= plan_.acc_slots) {
      return complain(index, "no such accumulator slot");
    }
    if (travels(step.kind) != (step.peer >= 0) || travels(step.kind) != (step.message >= 0) ||
        step.peer >= plan_.ranks || step.peer == plan_.rank) {
      return complain(index, "no such peer or message");
    }
    return {};
  }

  void build_ancestors() {
    ancestors_.assign(words_ * plan_.steps.size(), 0);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      for (const StepIndex dependency : plan_.dependencies_of(plan_.steps[i])) {
        for (std::size_t w = 0; w < words_; ++w) {
          ancestors_[i * words_ + w] |= ancestors_[at(dependency) * words_ + w];
        }
        ancestors_[i * words_ + at(dependency) / 64] |= std::uint64_t{1} << (at(dependency) % 64);
      }
    }
  }

  bool is_before(StepIndex first, StepIndex second) const {
    return (ancestors_[at(second) * words_ + at(first) / 64] >> (at(first) % 64) & 1) != 0;
  }

  SlotUses wire_uses() const {
    SlotUses uses(at(plan_.wire_slots));
    for (StepIndex i = 0; i < static_cast<StepIndex>(plan_.steps.size()); ++i) {
      const Step& step = plan_.steps[at(i)];
      if (step.wire >= 0) uses[at(step.wire)].push_back({i, wire_access(step.kind)});
    }
    return uses;
  }

  SlotUses acc_uses() const {
    SlotUses uses(at(plan_.acc_slots));
    for (StepIndex i = 0; i < static_cast<StepIndex>(plan_.steps.size()); ++i) {
      const Step& step = plan_.steps[at(i)];
      if (step.acc >= 0) uses[at(step.acc)].push_back({i, acc_access(step.kind)});
    }
    return uses;
  }

  std::string check_slots(int slots, const char* name, const SlotUses& all_uses) const {
    for (int slot = 0; slot < slots; ++slot) {
      const std::vector<Use>& uses = all_uses[at(slot)];
      const std::string what = std::string(name) + " " + std::to_string(slot);
      for (std::size_t j = 0; j < uses.size(); ++j) {
        const std::string error = check_use(uses, j, what);
        if (!error.empty()) return error;
      }
    }
    return {};
  }

  std::string check_use(const std::vector<Use>& uses, std::size_t j,
                        const std::string& what) const {
    const Use& use = uses[j];
    if (j == 0 && use.access != Access::write) {
      return complain(use.step, what + " is read before it is written");
    }
    const bool wasted = use.access == Access::write &&
                        (j + 1 == uses.size() || uses[j + 1].access == Access::write);
    if (wasted) return complain(use.step, what + " is written and never read");
    if (j > 0 && use.access != Access::write &&
        plan_.steps[at(use.step)].piece != plan_.steps[at(uses[j - 1].step)].piece) {
      return complain(use.step, what + " holds another piece");
    }
    for (std::size_t i = 0; i < j; ++i) {
      const bool conflict = use.access != Access::read || uses[i].access != Access::read;
      if (!conflict || is_before(uses[i].step, use.step)) continue;
      const bool overwrites = use.access == Access::write;
      return complain(use.step, what +
                                    (overwrites ? " is overwritten while live, without waiting"
                                                : " is used without waiting") +
                                    " for step " + step_text(plan_, uses[i].step));
    }
    return {};
  }

  // The steps that read input[piece] (sends of an encoded input read it too, as wire slots may
  // alias the input) and those that write output[piece], early ones included.
  void collect_piece_uses(SlotUses& readers, SlotUses& writers) const {
    std::vector<StepIndex> definer(at(plan_.wire_slots), -1);
    for (StepIndex i = 0; i < static_cast<StepIndex>(plan_.steps.size()); ++i) {
      const Step& step = plan_.steps[at(i)];
      const StepIndex defined = step.wire < 0 ? -1 : definer[at(step.wire)];
      const bool from_input =
          defined >= 0 && plan_.steps[at(defined)].kind == StepKind::encode_input;
      if (wire_access(step.kind) == Access::write && step.wire >= 0) definer[at(step.wire)] = i;
      const bool reads = step.kind == StepKind::encode_input || step.kind == StepKind::load_input ||
                         step.kind == StepKind::add_input || (travels(step.kind) && from_input);
      if (reads && step.kind != StepKind::receive) {
        readers[at(step.piece)].push_back({i, Access::read});
      }
      if (step.kind == StepKind::store_acc) writers[at(step.piece)].push_back({i, Access::write});
      if (step.kind == StepKind::decode && !from_input) {
        writers[at(step.piece)].push_back({defined, Access::write});
      }
    }
  }

  std::string check_in_place() const {
    SlotUses readers(at(plan_.pieces));
    SlotUses writers(at(plan_.pieces));
    collect_piece_uses(readers, writers);
    for (std::size_t piece = 0; piece < readers.size(); ++piece) {
      for (const Use& writer : writers[piece]) {
        for (const Use& reader : readers[piece]) {
          if (is_before(reader.step, writer.step)) continue;
          return complain(writer.step, "may write output " + std::to_string(piece) +
                                           ", in place, before step " +
                                           step_text(plan_, reader.step) + " has read the input");
        }
      }
    }
    return {};
  }

  const Plan& plan_;
  std::size_t words_;
  std::vector<std::uint64_t> ancestors_;  // steps x words_: bit j of row i: j runs before i
};

}  // namespace

std::string check_plan(const Plan& plan) { return LocalChecker(plan).check(); }

}  // namespace thinwire::collectives
