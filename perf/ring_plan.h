// RingPlan: NCCL's ring algorithms (Simple protocol) as a list of slices for one channel of one
// rank. Pure; any thread. Facts: NCCL's device/all_reduce.h, all_gather.h, reduce_scatter.h.
#pragma once

#include <cstddef>
#include <vector>

#include "perf/collective.h"

namespace thinwire::perf {

// One slice: takes what arrived, the input, or their reduction, and puts it into the output, the
// next message, or both. Sizes and offsets in bytes.
struct RingSlice {
  bool recv = false;
  bool input = false;
  bool output = false;
  bool send = false;
  bool last_reduction = false;    // averages are scaled here
  std::size_t input_offset = 0;   // in the send buffer
  std::size_t output_offset = 0;  // in the receive buffer
  std::size_t bytes = 0;
};

struct RingParameters {
  Collective collective = Collective::all_reduce;
  int rank = 0;
  int ranks = 2;
  std::size_t bytes = 0;          // all-reduce: of the vector; else of one rank's part
  std::size_t channel_begin = 0;  // this channel's share of `bytes`
  std::size_t channel_end = 0;
  std::size_t slice_bytes = 1 << 20;  // largest message; a chunk has two
};

// Empty slices are left out, on both sides alike. `ranks` is at least 2.
std::vector<RingSlice> ring_plan(const RingParameters& parameters);

// The share [begin, end) of channel `index` of `channels`: 16-byte multiples but for the end.
struct Share {
  std::size_t begin = 0;
  std::size_t end = 0;
};
Share channel_share(std::size_t bytes, int index, int channels);

}  // namespace thinwire::perf
