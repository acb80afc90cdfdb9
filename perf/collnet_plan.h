// CollNetPlan: the calls that NCCL's CollNet proxy makes for one collective, as a list. Pure; any
// thread. Facts: NCCL's transport/coll_net.cc and enqueue.cc (2.28 to 2.30), one head per node.
#pragma once

#include <cstddef>
#include <vector>

#include "perf/collective.h"
#include "perf/plugin_api.h"

namespace thinwire::perf {

inline constexpr int kGroupChannels = 8;  // channels that one call covers
inline constexpr int kStepsInFlight = 8;  // calls in flight per group

// One call of iallreduce, iallgather or ireducescatter. Offsets are from the user's buffers.
struct CollNetCall {
  int group = 0;
  std::size_t send_offset = 0;
  std::size_t send_bytes = 0;  // of the tensor; an all-reduce call may cover more than that
  std::size_t recv_offset = 0;
  std::size_t recv_bytes = 0;
  std::size_t call_bytes = 0;      // all-reduce: what the plugin is told to reduce
  Window window;                   // the other two
  std::size_t staging_offset = 0;  // in each half of the staging memory
};

struct CollNetParameters {
  Collective collective = Collective::all_reduce;
  int rank = 0;
  int ranks = 1;
  std::size_t bytes = 0;  // all-reduce: of the vector; else of one rank's part
  int channels = 1;
  std::size_t chunk_bytes = 0;  // 0: chunk_of()
  bool registered = false;      // user buffers: exact sizes, max_call_bytes a call
  std::size_t max_call_bytes = 0;
};

// The chunk NCCL chooses for a collective of `bytes` in all: 512 KiB, halved for small ones down to
// 32 KiB.
std::size_t chunk_of(std::size_t bytes, int channels);

std::vector<CollNetCall> collnet_plan(const CollNetParameters& parameters);

// The staging memory of one direction: kStepsInFlight steps of all channels.
std::size_t staging_bytes(int channels, std::size_t largest_chunk);

}  // namespace thinwire::perf
