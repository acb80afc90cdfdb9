// What the two sides of a connection tell one another over the control connection before they share
// memory: docs/wire_format.md, "Shared memory". Values; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/control_link.h"
#include "transports/marked_handle.h"
#include "transports/shm/local_socket.h"

namespace thinwire::transports::shm {

inline constexpr const char* kStranger = "the peer's transport is not shared memory";
inline constexpr Mark kMark{5, kStranger};
inline constexpr ControlFormat kControlFormat{
    0x43485754,  // "TWHC" in memory
    1, kStranger, "the peer's Thinwire speaks another version of the shared-memory format"};

// The control connection's own hello.
inline constexpr std::uint64_t kControlHello = 0x314D4853'52494857u;  // "WHIRSHM1" in memory

enum class ControlKind : std::uint64_t {
  introduction = 1,  // first, from the connecting side
  refusal = 2,       // from the accepting side: no way to share memory
};

struct ControlMessage {
  ControlKind kind = ControlKind::introduction;
  SocketName socket;             // introduction: where the segment is to be sent
  std::uint64_t nonce = 0;       // introduction: what is to go with it
  std::uint64_t error = 0;       // refusal: errno
  std::vector<std::byte> hello;  // introduction: the user's
};

ControlFrame to_frame(ControlMessage message);
ControlMessage from_frame(ControlFrame frame);

}  // namespace thinwire::transports::shm
