// What the two sides of a connection tell one another over the control connection:
// docs/wire_format.md, "UCX". Values; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/control_link.h"
#include "transports/marked_handle.h"

namespace thinwire::transports::ucx {

inline constexpr const char* kStranger =
    "the peer's transport is not UCX (THINWIRE_TRANSPORT must be equal on all ranks)";
inline constexpr Mark kMark{3, kStranger};
inline constexpr ControlFormat kControlFormat{
    0x43585754,  // "TWXC" in memory
    1, "the peer's transport is not UCX",
    "the peer's Thinwire speaks another version of the UCX format"};

// The control connection's own hello.
inline constexpr std::uint64_t kControlHello = 0x31584355'52494857u;  // "WHIRUCX1" in memory

enum class ControlKind : std::uint16_t {
  introduction = 1,  // first, from the connecting side
  answer = 2,        // from the accepting side: how, and where to
  begin = 3,         // from the connecting side: where to
  error = 4,         // the sender failed, and why
  goodbye = 5,       // the sender is gone in good order, after `messages`
};

// One message; its kind says which fields it uses.
struct ControlMessage {
  ControlKind kind = ControlKind::introduction;
  std::uint64_t endpoint = 0;       // introduction, answer: the sender's Endpoint
  std::uint64_t domain = 0;         // introduction: memory_domain(), 0 without shared memory
  std::uint32_t channel = 0;        // answer, begin: the sender's number of the connection
  std::uint16_t watching = 0;       // answer: Watching
  std::uint64_t window_bytes = 0;   // answer, begin
  std::uint64_t code = 0;           // error: Code
  std::uint64_t message_bytes = 0;  // error: of the message that did not fit
  std::uint64_t buffer_bytes = 0;   // error
  std::uint64_t messages = 0;       // goodbye: how many data messages were sent
  std::vector<std::byte> blob;      // introduction: the user's hello; answer, begin: UCX's address
};

ControlFrame to_frame(ControlMessage message);
ControlMessage from_frame(ControlFrame frame);

}  // namespace thinwire::transports::ucx
