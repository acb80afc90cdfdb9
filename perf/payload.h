// Payload: what each rank contributes to a collective, and what must come out. Values are pure
// functions of (seed, rank, index), so every rank can compute everybody's. Any thread.
//
// Exact payloads keep every partial sum and product, in whatever order, representable in the type
// (after nccl-tests' verifiable): the result has one right bit pattern. Gaussian ones are for lossy
// codecs and have a float64 reference. All-gather and sendrecv carry random bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/data_type.h"
#include "perf/collective.h"

namespace thinwire::perf {

inline constexpr double kLossyBound = 0.05;
inline constexpr double kNoLossyBound = std::numeric_limits<double>::infinity();

struct Payload {
  Collective collective = Collective::all_reduce;
  DataType type = DataType::float32;
  PerfOp op = PerfOp::sum;
  int ranks = 1;
  bool gaussian = false;  // only where gaussian_makes_sense()
  std::uint64_t seed = 1;
  Shape shape;
  int source = 0;  // send_recv: whose data arrives
  // Gaussian: an element is wrong when its error exceeds this share of the largest absolute value
  // of the exact result. kNoLossyBound: only when it is not finite.
  double lossy_bound = kLossyBound;
};

// Sums and averages of float32, float16 and bfloat16 in a reduction.
bool gaussian_makes_sense(const Payload& payload);

// `rank`'s send buffer, elements [first, first + count).
void fill_send(const Payload& payload, int rank, std::size_t first, std::size_t count, void* out);

// `rank`'s right result, elements [first, first + count): bits. For Gaussian payloads use
// fill_reference.
void fill_expected(const Payload& payload, int rank, std::size_t first, std::size_t count,
                   void* out);

// The same of a Gaussian payload, summed (or averaged) in float64.
void fill_reference(const Payload& payload, int rank, std::size_t first, std::size_t count,
                    double* out);

// `count` stored elements as float64.
void widen(DataType type, const void* stored, std::size_t count, double* out);

// `bytes` of what must never influence a result: NaN patterns and huge values in turns.
void fill_poison(void* out, std::size_t bytes);

}  // namespace thinwire::perf
