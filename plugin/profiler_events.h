// What NCCL tells a profiler, without its version: values that plugin/abi/profiler_vN.cc fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/data_type.h"

namespace thinwire::plugin {

// Of the communicator that an init is for; 0 where the version does not say (v1 to v3).
struct CommunicatorInfo {
  std::uint64_t hash = 0;  // also CollNet's commId from v11 on
  int nodes = 0;
  int ranks = 0;
  int rank = 0;
};

// Those whose all-reduce reaches CollNet between nodes; NVLS does on several nodes.
enum class CollAlgorithm : std::uint8_t { other, collnet_direct, collnet_chain, nvls };

// A collective as the application asked for it, seen on its thread.
struct CollectiveEvent {
  std::uint64_t comm_hash = 0;  // v1 to v3; else 0
  std::uint64_t sequence = 0;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;         // elements
  std::optional<DataType> type;  // none: NCCL has no name for it
  bool all_reduce = false;
  CollAlgorithm algorithm = CollAlgorithm::other;
};

// The part of a collective on one channel in one direction, seen on the progress thread that then
// makes the calls. `parent` is what the start of the collective gave out, if `pid` is this process.
struct ProxyOpEvent {
  const void* parent = nullptr;
  std::int64_t pid = 0;
  int channel = 0;
  int steps = 0;
  int chunk_bytes = 0;
  bool is_send = false;  // of the network; false for both directions of CollNet
};

}  // namespace thinwire::plugin
