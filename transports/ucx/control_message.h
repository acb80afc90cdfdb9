// What the two sides of a connection tell one another over the control connection:
// docs/wire_format.md, "UCX". Values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transports/transport.h"

namespace thinwire::transports::ucx {

inline constexpr std::uint16_t kFormatVersion = 1;

// The control connection's own hello.
inline constexpr std::uint64_t kControlHello = 0x31584355'52494857u;  // "WHIRUCX1" in memory

enum class ControlKind : std::uint16_t {
  introduction = 1,  // first, from the connecting side
  answer = 2,        // from the accepting side: how, and where to
  begin = 3,         // from the connecting side: where to
  error = 4,         // the sender failed, and why
  goodbye = 5,       // the sender is gone in good order, after `messages`
};

// One message; its kind says which fields it uses. Its size on the wire is that of the fixed part
// and of `address`.
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

// The part of fixed size, which says how long the blob is that follows.
inline constexpr std::size_t kPreludeBytes = 80;
inline constexpr std::size_t kMaxBlobBytes = std::size_t{1} << 20;

struct Prelude {
  ControlMessage message;
  std::size_t blob_bytes = 0;
};

std::array<std::byte, kPreludeBytes> encode_prelude(const ControlMessage& message);
// Code::peer_lost: another version, or not a control message.
Result<Prelude> decode_prelude(std::span<const std::byte, kPreludeBytes> bytes);

}  // namespace thinwire::transports::ucx
