// Memory registration as NCCL asks for it, the same for both tables. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/log.h"
#include "base/status.h"
#include "transports/transport.h"

namespace thinwire::plugin {

// Registers memory with the endpoint and returns an mhandle (never null). `types`: those of NCCL's
// NCCL_PTR_ values that the device takes. Code::invalid_argument, logged: another one.
Result<void*> register_memory(transports::Endpoint& endpoint, void* data, std::size_t bytes,
                              int kind, int types, const Log& log);

// The same for GPU memory that comes as a DMA-BUF: `data` lies `offset` bytes into `fd`.
Result<void*> register_dmabuf(transports::Endpoint& endpoint, void* data, std::size_t bytes,
                              std::uint64_t offset, int fd, int types, const Log& log);

// `mhandle` came from register_memory() of the same endpoint.
Status deregister_memory(transports::Endpoint& endpoint, void* mhandle);

// Whether it is a GPU's; false for a null one.
bool is_gpu_memory(const void* mhandle);

// The key inside an mhandle; a null one names no registration.
transports::MemoryKey key_of(const void* mhandle);

}  // namespace thinwire::plugin
