// The handle of a listener that stands on a control transport's listener: the latter's, marked.
// Pure; any thread.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "transports/transport.h"

namespace thinwire::transports {

// A transport that introduces its connections over another one's.
struct Mark {
  std::uint8_t number;   // of the transport, as docs/wire_format.md lists them
  const char* stranger;  // what to say of a peer whose transport is another one
};

// The control transport's number moves into the upper byte of its field, ours takes the lower one.
Handle mark_handle(const Handle& control, const Mark& mark);

// The control listener's handle again. Code::invalid_argument: not a handle at all.
// Code::peer_lost: another transport's (logged by the caller).
Result<Handle> unmark_handle(const Handle& handle, const Mark& mark);

}  // namespace thinwire::transports
