// What the two sides of a connection tell one another over the control connection:
// docs/wire_format.md, "RDMA verbs". Values; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transports/control_link.h"
#include "transports/marked_handle.h"
#include "transports/verbs/queue_pair.h"

namespace thinwire::transports::verbs {

inline constexpr const char* kStranger =
    "the peer's transport is not verbs (THINWIRE_TRANSPORT must be equal on all ranks)";
inline constexpr Mark kMark{4, kStranger};
inline constexpr ControlFormat kControlFormat{
    0x43565754,  // "TWVC" in memory
    1, "the peer's transport is not verbs",
    "the peer's Thinwire speaks another version of the verbs format"};

// The control connection's own hello.
inline constexpr std::uint64_t kControlHello = 0x31425256'52494857u;  // "WHIRVRB1" in memory

enum class ControlKind : std::uint16_t {
  introduction = 1,  // first, from the connecting side: where its paths are, and the user's hello
  answer = 2,        // from the accepting side: where its paths are
  ready = 3,         // from the connecting side: it receives
  error = 4,         // the sender failed, and why
  goodbye = 5,       // the sender is gone in good order
  broken = 6,        // a path failed at the sender
  resume = 7,        // where the sender's new end of that path is, and what came over the old one
};

struct ControlMessage {
  ControlKind kind = ControlKind::introduction;
  std::uint16_t path = 0;           // broken, resume
  std::uint16_t epoch = 0;          // broken, resume: of the queue pair that failed
  std::uint16_t hello_bytes = 0;    // introduction
  std::uint32_t slots = 0;          // introduction, answer
  std::uint32_t slot_bytes = 0;     // introduction, answer
  std::uint64_t window_bytes = 0;   // introduction, answer
  std::uint64_t code = 0;           // error: Code
  std::uint64_t message_bytes = 0;  // error: of the message that did not fit
  std::uint64_t buffer_bytes = 0;   // error
  std::uint32_t received = 0;       // resume: over the queue pair that failed
  // introduction, answer, resume
  std::vector<PathAddress> addresses;
  // introduction: the user's hello; goodbye: what was delivered over each path, 32 bits each
  std::vector<std::byte> blob;
};

ControlFrame to_frame(const ControlMessage& message);
// Code::peer_lost: lengths that do not fit together.
Result<ControlMessage> from_frame(const ControlFrame& frame);

}  // namespace thinwire::transports::verbs
