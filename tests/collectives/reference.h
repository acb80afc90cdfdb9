// Reference: what a Plan computes, step by step on plain arrays, without aliasing, tiles in flight
// or transports. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "base/data_type.h"
#include "collectives/engine.h"
#include "collectives/selection.h"

namespace thinwire::collectives::testing {

using Bytes = std::vector<std::byte>;

// One collective of N ranks. inputs[r] is rank r's contribution in the form Call::input has.
struct Problem {
  Collective collective = Collective::all_reduce;
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  std::size_t count = 0;                  // all_reduce
  std::vector<std::size_t> piece_counts;  // the others
  std::vector<Bytes> inputs;

  int ranks() const { return static_cast<int>(inputs.size()); }
  std::vector<std::size_t> offsets() const;
  // Elements of Call::input and Call::output of `rank`, and where its piece starts.
  std::size_t input_elements(int rank) const;
  std::size_t output_elements(int rank) const;
};

// Fills inputs with values that differ between ranks, types and seeds; finite.
void fill_inputs(Problem& problem, int ranks, std::uint64_t seed);

// Every rank's output, as the Plans that `options` chooses define it, bit for bit.
std::vector<Bytes> reference_outputs(const Problem& problem, const EngineOptions& options);

// The elements as doubles (64-bit integers lose their low bits).
std::vector<double> to_doubles(DataType type, const Bytes& bytes);

}  // namespace thinwire::collectives::testing
