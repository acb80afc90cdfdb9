// CompiledPlan: a Plan as the Engine runs it: what each step really does to which memory, and who
// waits for whom. Immutable once made, shared by all runs; pure functions; any thread.
//
// This is where copies are avoided: slots become aliases of input and output where the arithmetic
// allows it, and steps that have nothing left to do become Action::nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/plan.h"

namespace thinwire::collectives {

// How elements, accumulators and wire differ; decides which steps are mere renaming.
enum class Arithmetic : std::uint8_t {
  native,         // no codec; sums in the element type: all three look the same
  widened,        // no codec; 8- and 16-bit floats summed in float32
  lossy_native,   // codec, float32 elements
  lossy_widened,  // codec, 16-bit floats
};
inline constexpr int kArithmeticCount = 4;

constexpr bool is_lossy(Arithmetic a) { return a >= Arithmetic::lossy_native; }
constexpr bool is_widened(Arithmetic a) {
  return a == Arithmetic::widened || a == Arithmetic::lossy_widened;
}

enum class Area : std::uint8_t { input, output, wire, acc };

// input and output: index = piece. wire and acc: index = region of the tile's staging.
struct Place {
  Area area = Area::input;
  std::int32_t index = 0;
  bool operator==(const Place&) const = default;
};

enum class Action : std::uint8_t {
  nothing,          // `from` and `to` are one place
  copy,             // to = from, elements
  load,             // accumulator to = from, elements
  reduce,           // accumulator to = to op from, elements
  store,            // to = from, an accumulator rounded to elements
  encode_elements,  // wire to = encode(from), elements
  encode_acc,       // wire to = encode(from), float32
  decode_elements,  // to = decode(from), elements
  decode_acc,       // to = decode(from), float32
  decode_add,       // to += decode(from), float32
  send,             // from -> peer
  receive,          // to <- peer
};

struct CompiledStep {
  Action action = Action::nothing;
  Place from;
  Place to;
  std::int32_t piece = 0;
  std::int32_t wire = -1;  // whose byte count is written or read
  int level = -1;          // how far what is encoded or decoded travels
  // Encodings: which of the residuals of this piece it leaves (0 for the first encoding of it).
  int residual = -1;
  // Receives into wire regions: how many steps use the region until something else is put there.
  // Other than 0: the message may stay in the transport's memory meanwhile.
  std::int32_t view_users = 0;
  std::int32_t peer = -1;
  std::int32_t message = -1;
  std::int32_t first_dependent = 0;  // into CompiledPlan::dependents
  std::int32_t dependent_count = 0;
};

// Calls visit(index) with the wire regions that a step reads or writes, each once.
template <class Visit>
void for_each_wire_region(const CompiledStep& step, Visit&& visit) {
  if (step.from.area == Area::wire) visit(step.from.index);
  if (step.to.area == Area::wire && step.to != step.from) visit(step.to.index);
}

struct CompiledPlan {
  std::vector<CompiledStep> steps;
  std::vector<StepIndex> dependents;
  std::vector<std::int32_t> dependency_counts;  // per step
  std::vector<StepIndex> initial;               // without dependencies; receives first
  std::int32_t wire_slots = 0;                  // of the Plan: sizes the byte counts
  std::int32_t wire_regions = 0;                // staging really used
  int residuals = 0;                            // most encodings of one piece
  std::int32_t acc_regions = 0;
};

// `plan` passes check_plan(). `in_place`: the caller's input and output overlap.
CompiledPlan compile(const Plan& plan, Arithmetic arithmetic, bool in_place);

}  // namespace thinwire::collectives
