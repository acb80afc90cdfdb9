// Memory registration as NCCL asks for it, the same for both tables. Any thread.
#pragma once

#include <cstddef>

#include "base/log.h"
#include "base/status.h"
#include "transports/transport.h"

namespace thinwire::plugin {

// Registers host memory with the endpoint and returns an mhandle (never null). Code::
// invalid_argument, logged, for device memory, which this transport does not take.
Result<void*> register_memory(transports::Endpoint& endpoint, void* data, std::size_t bytes,
                              int kind, const Log& log);

// `mhandle` came from register_memory() of the same endpoint.
Status deregister_memory(transports::Endpoint& endpoint, void* mhandle);

// The key inside an mhandle; a null one names no registration.
transports::MemoryKey key_of(const void* mhandle);

}  // namespace thinwire::plugin
