// Plan: what one rank does in a collective, as data. Immutable once built; any thread.
//
// Plans are safe in place: whatever writes output[piece] depends on all that reads input[piece],
// the sends of an encoded input included, and the receive or encode_acc of a wire value that is
// decoded to output[piece] counts as its writer. So the Engine may let wire slots alias input and
// output. A wire or accumulator slot is written again only by steps that depend on its readers.
// checker.h proves all of this.
//
// A Plan knows pieces, not bytes: a collective's vector is split into `pieces` ranges (see
// geometry.h) and long ranges are cut into tiles; the Engine runs the same Plan once per tile.
// Steps name per-run slots: wire slots hold a piece as it travels, accumulator slots hold sums in
// accumulator_type(). A step runs when all steps it depends on have finished. Builders are pure
// functions of (rank, layout): schedules/*.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thinwire::collectives {

enum class StepKind : std::uint8_t {
  encode_input,  // wire[w]  = encode(input[piece])
  load_input,    // acc[a]   = input[piece]
  add_input,     // acc[a]   = acc[a] op input[piece]
  load_wire,     // acc[a]   = decode(wire[w])
  add_wire,      // acc[a]   = acc[a] op decode(wire[w])
  encode_acc,    // wire[w]  = encode(acc[a]), rounded to the element type where there is no codec
  send,          // wire[w]  -> peer, as message `message`
  receive,       // wire[w]  <- peer, message `message`
  decode,        // output[piece] = decode(wire[w])
  store_acc,     // output[piece] = acc[a] (reduce-scatter: the result never travels)
  copy_input,    // output[piece] = input[piece] (all-gather: own slice)
};

using StepIndex = std::int32_t;

struct Step {
  StepKind kind{};
  std::int32_t piece = -1;  // every step names the piece whose range it moves
  std::int32_t wire = -1;
  std::int32_t acc = -1;
  std::int32_t peer = -1;
  // Pairs a send with its receive: unique among the messages from one rank to another in a Plan.
  std::int32_t message = -1;
  // Of the wire value written or read: how far it travels (layout.h), at most; a value that is
  // passed on verbatim has one level on all ranks. -1 where there is no wire value.
  std::int32_t level = -1;
  std::int32_t first_dependency = 0;  // into Plan::dependencies
  std::int32_t dependency_count = 0;
};

enum class Collective : std::uint8_t { all_reduce, all_gather, reduce_scatter };

struct Plan {
  std::string schedule;  // "ring", "direct", "grid 4x4"
  Collective collective{};
  int rank = 0;
  int ranks = 1;
  int pieces = 1;
  int wire_slots = 0;
  int acc_slots = 0;
  std::vector<Step> steps;  // in an order in which they could run one by one
  std::vector<StepIndex> dependencies;

  std::span<const StepIndex> dependencies_of(const Step& step) const {
    return {dependencies.data() + step.first_dependency,
            static_cast<std::size_t>(step.dependency_count)};
  }
};

// One step of the Plan as a line without its end, e.g. "3: send p0 w0 to 1 m0 after 2".
std::string step_text(const Plan& plan, StepIndex index);

// A heading and one line a step, stable, for golden tests and `thinwire plan`.
std::string to_text(const Plan& plan);

// The ranks this Plan exchanges messages with, ascending.
std::vector<int> peers_of(const Plan& plan);

}  // namespace thinwire::collectives
