// What goes over UCX beside the payload: docs/wire_format.md, "UCX". Values; any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace thinwire::transports::ucx {

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

inline constexpr unsigned kActiveMessageId = 7;

enum class MessageKind : std::uint16_t {
  data = 1,
  grant = 2,  // only the `granted` of its header
  look = 3,   // something is on the control connection
  // The path is tried in both directions before either side is established, because UCX connects
  // on the way of the first messages and needs both sides' progress for it.
  greeting = 4,   // from the connecting side
  reply = 5,      // from the accepting side, after a greeting
  confirmed = 6,  // from the connecting side, after the reply
};

// The header of every active message.
struct MessageHeader {
  std::uint32_t connection = 0;  // the receiver's number of it
  MessageKind kind = MessageKind::data;
  std::uint16_t charged = 0;  // 1: its cost counts against the receiver's window
  std::uint64_t sequence = 0;
  std::uint64_t tag = 0;
  std::uint64_t granted = 0;  // cost of all charged messages that left the sender's own window
};
static_assert(sizeof(MessageHeader) == 32);

// Larger messages, and those beyond the window, travel by rendezvous: nothing but a description of
// them waits at a receiver that has not posted.
inline constexpr std::size_t kMaxEagerBytes = 32 * 1024;
inline constexpr std::uint64_t kWindowBytes = 1024 * 1024;

// What a charged message costs of the window, so that small ones are bounded too.
constexpr std::uint64_t cost_of(std::size_t bytes) { return bytes + 64; }

}  // namespace thinwire::transports::ucx
