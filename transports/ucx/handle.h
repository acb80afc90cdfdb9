// A UCX listener's handle: its control listener's, marked. Pure; any thread.
#pragma once

#include "base/status.h"
#include "transports/transport.h"

namespace thinwire::transports::ucx {

// The transport's number moves into the upper byte of its field, ours takes the lower one.
inline constexpr std::uint8_t kTransportNumber = 3;
Handle mark_handle(const Handle& control);

// The control listener's handle again. Code::invalid_argument: not a handle at all.
// Code::peer_lost: another transport's (logged by the caller).
Result<Handle> unmark_handle(const Handle& handle);

}  // namespace thinwire::transports::ucx
