// NCCL's side of the profiler as tests replay it: collectives, their parts, the calls they lead to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/engine.h"
#include "plugin/profiler_events.h"

namespace thinwire::plugin {

// Addresses that are compared and never read.
inline void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

inline CollectiveEvent all_reduce_of(std::size_t count, std::uintptr_t buffer,
                                     CollAlgorithm algorithm = CollAlgorithm::collnet_chain) {
  CollectiveEvent event;
  event.send = address(buffer);
  event.receive = address(buffer + 8);
  event.count = count;
  event.type = DataType::float32;
  event.all_reduce = true;
  event.algorithm = algorithm;
  return event;
}

// How NCCL cuts it: src/enqueue.cc, calcCollChunking. `heads` on a node share the tensor, of which
// this one is `head`.
struct Cut {
  int channels = 1;
  int chunk_bytes = 32768;
  int heads = 1;
  int head = 0;

  int steps(std::size_t count) const {
    const auto step = static_cast<std::size_t>(channels) * static_cast<std::size_t>(heads) *
                      static_cast<std::size_t>(chunk_bytes);
    return static_cast<int>((count * sizeof(float) + step - 1) / step);
  }
};

inline ProxyOpEvent part_of(const Cut& cut, int channel, int steps) {
  ProxyOpEvent part;
  part.channel = channel;
  part.steps = steps;
  part.chunk_bytes = cut.chunk_bytes;
  return part;
}

// One iallreduce and, element by element, how much of it is the tensor's.
struct ExpectedCall {
  collectives::Call call;
  std::size_t valid = 0;
};

// src/transport/coll_net.cc and src/device/all_reduce.h: step by step, groups of 8 channels.
inline std::vector<ExpectedCall> calls_of(const CollectiveEvent& tensor, const Cut& cut) {
  std::vector<ExpectedCall> calls;
  const std::size_t chunk = static_cast<std::size_t>(cut.chunk_bytes) / sizeof(float);
  for (int step = 0; step < cut.steps(tensor.count); ++step) {
    for (int first = 0; first < cut.channels; first += 8) {
      const int last = std::min(first + 8, cut.channels);
      ExpectedCall expected;
      expected.call.input = address(0x700000);
      expected.call.output = address(0x900000);
      expected.call.count = static_cast<std::size_t>(last - first) * chunk;
      for (int channel = first; channel < last; ++channel) {
        const auto at = static_cast<std::size_t>((step * cut.channels + channel) * cut.heads);
        const std::size_t begin = (at + static_cast<std::size_t>(cut.head)) * chunk;
        const std::size_t left = tensor.count > begin ? tensor.count - begin : 0;
        expected.valid += std::min(left, chunk);
      }
      calls.push_back(expected);
    }
  }
  return calls;
}

}  // namespace thinwire::plugin
