// Memory that was registered with an Endpoint: mapped in UCX, so that its transfers find it in
// UCX's registration cache. Owner: an Endpoint; one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "transports/transport.h"
#include "transports/ucx/context.h"

namespace thinwire::transports::ucx {

class Registrations {
 public:
  explicit Registrations(const Context& context) : context_(context) {}
  ~Registrations();
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  Result<MemoryKey> add(void* data, std::size_t bytes, MemoryKind kind);
  Status remove(MemoryKey key);

  // The lowest bit of a key says which memory it is; an empty key is of host memory.
  static ucs_memory_type_t type_of(MemoryKey key) {
    return (key.value & 1) != 0 ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
  }

 private:
  const Context& context_;
  std::unordered_map<std::uint64_t, ucp_mem_h> mapped_;  // null: nothing to map
  std::uint64_t next_ = 1;
};

}  // namespace thinwire::transports::ucx
