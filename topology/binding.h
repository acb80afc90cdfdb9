// Where threads run and where memory lies. Harmless where the system refuses: containers often do.
#pragma once

#include <cstddef>

#include "topology/cpu_set.h"

namespace thinwire::topology {

// Restricts the calling thread, which must be one of ours, to those of `cores` that it may use.
// False, and nothing changes, when these are none or all of them, or the system refuses.
// Source: sched_setaffinity(2).
bool pin_this_thread(const CpuSet& cores);

// Pages of zeros that lie on one NUMA node while it has room, without the use of libnuma. Owner:
// whoever allocated it; the memory may be used by any thread. Writing behind the end faults.
class NodeMemory {
 public:
  NodeMemory() = default;
  // `node` as NicInfo::numa_node, -1: wherever it is first touched. Empty when there is no memory
  // left, or for 0 bytes. Source: mbind(2), MPOL_PREFERRED.
  NodeMemory(std::size_t bytes, int node);
  NodeMemory(NodeMemory&& other) noexcept;
  NodeMemory& operator=(NodeMemory&& other) noexcept;
  ~NodeMemory();

  std::byte* data() const { return data_; }  // page-aligned; null when empty
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace thinwire::topology
