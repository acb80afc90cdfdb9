// Element-wise conversion and reduction, SIMD with a scalar reference. Pure functions; any thread.
//
// A = accumulator_type(type): float32 for the 8- and 16-bit floating types, else the type itself.
// Results have the same bits on every SIMD target: plain IEEE operations in element order, round
// to nearest even, integers wrap; min and max propagate NaN. `count` may be 0; pointers are
// aligned to their element type; input and output may be the same array, not partly overlap.
#pragma once

#include <cstddef>

#include "base/data_type.h"

namespace thinwire::compression {

// accumulator[i] = A(elements[i])
void load(DataType type, const void* elements, void* accumulator, std::size_t count);

// accumulator[i] = accumulator[i] op A(elements[i])
void reduce(DataType type, ReduceOp op, const void* elements, void* accumulator, std::size_t count);

// elements[i] = type(accumulator[i]), rounded once. fp8 e4m3 saturates to +-448 as NCCL's kernels
// do; Inf and NaN become NaN there.
void store(DataType type, const void* accumulator, void* elements, std::size_t count);

}  // namespace thinwire::compression
