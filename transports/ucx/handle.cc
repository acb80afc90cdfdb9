#include "transports/ucx/handle.h"

#include <cstring>

namespace thinwire::transports::ucx {

namespace {
constexpr std::size_t kLowerByteAt = 6;
constexpr std::size_t kUpperByteAt = 7;
}  // namespace

Handle mark_handle(const Handle& control) {
  Handle marked = control;
  marked.bytes[kUpperByteAt] = control.bytes[kLowerByteAt];
  marked.bytes[kLowerByteAt] = std::byte{kTransportNumber};
  return marked;
}

Result<Handle> unmark_handle(const Handle& handle) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, handle.bytes.data(), sizeof magic);
  if (magic != kHandleMagic) {
    return Status(Code::invalid_argument, "not a handle of Thinwire's UCX transport");
  }
  if (handle.bytes[kLowerByteAt] != std::byte{kTransportNumber}) {
    return Status(Code::peer_lost,
                  "the peer's transport is not UCX (THINWIRE_TRANSPORT must be equal on all ranks)",
                  static_cast<int>(handle.bytes[kLowerByteAt]));
  }
  Handle control = handle;
  control.bytes[kLowerByteAt] = handle.bytes[kUpperByteAt];
  control.bytes[kUpperByteAt] = std::byte{0};
  return control;
}

}  // namespace thinwire::transports::ucx
