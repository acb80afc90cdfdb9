// Reductions on host arrays: the work that NCCL's kernels do around the network. Pure; any thread.
#pragma once

#include <cstddef>

#include "base/data_type.h"
#include "perf/collective.h"

namespace thinwire::perf {

// out[i] = a[i] op b[i] for `count` elements; `out` may be `a` or `b`. Integers wrap.
void reduce_arrays(void* out, const void* a, const void* b, std::size_t count, DataType type,
                   ReduceOp op);

// A sum over `ranks` becomes their average in place: floats times 1/ranks, integers divided.
void scale_average(void* data, std::size_t count, DataType type, int ranks);

}  // namespace thinwire::perf
