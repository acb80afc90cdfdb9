#include "transports/marked_handle.h"

#include <cstring>

namespace thinwire::transports {

namespace {
constexpr std::size_t kLowerByteAt = 6;
constexpr std::size_t kUpperByteAt = 7;
}  // namespace

Handle mark_handle(const Handle& control, const Mark& mark) {
  Handle marked = control;
  marked.bytes[kUpperByteAt] = control.bytes[kLowerByteAt];
  marked.bytes[kLowerByteAt] = std::byte{mark.number};
  return marked;
}

Result<Handle> unmark_handle(const Handle& handle, const Mark& mark) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, handle.bytes.data(), sizeof magic);
  if (magic != kHandleMagic) {
    return Status(Code::invalid_argument, "not a handle of one of Thinwire's transports");
  }
  if (handle.bytes[kLowerByteAt] != std::byte{mark.number}) {
    return Status(Code::peer_lost, mark.stranger, static_cast<int>(handle.bytes[kLowerByteAt]));
  }
  Handle control = handle;
  control.bytes[kLowerByteAt] = handle.bytes[kUpperByteAt];
  control.bytes[kUpperByteAt] = std::byte{0};
  return control;
}

}  // namespace thinwire::transports
