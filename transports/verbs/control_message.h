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
    3, "the peer's transport is not verbs",
    "the peer's Thinwire speaks another version of the verbs format"};

// The control connection's own hello.
inline constexpr std::uint64_t kControlHello = 0x31425256'52494857u;  // "WHIRVRB1" in memory

enum class ControlKind : std::uint16_t {
  introduction = 1,  // first, from the connecting side: what it has, and the user's hello
  answer = 2,        // from the accepting side: where its paths are
  ready = 3,         // from the connecting side, where its paths are; then back: it receives
  error = 4,         // the sender failed, and why
  goodbye = 5,       // the sender is gone in good order
  broken = 6,        // a path stands still at the sender
  resume = 7,        // where the sender's new end of that path is, and what came over the old one
  resumed = 8,       // from the connecting side: it receives over that path
  ports = 9,         // which of the sender's ports are up has changed
};

struct ControlMessage {
  ControlKind kind = ControlKind::introduction;
  std::uint16_t path = 0;           // broken, resume, resumed
  std::uint16_t epoch = 0;          // the same: of the queue pair that failed
  std::uint16_t hello_bytes = 0;    // introduction
  std::uint32_t slots = 0;          // introduction, answer
  std::uint32_t slot_bytes = 0;     // introduction, answer
  std::uint64_t window_bytes = 0;   // introduction, answer
  std::uint64_t code = 0;           // error: Code; broken: 1 where a port that is up failed
  std::uint64_t message_bytes = 0;  // error: of the message that did not fit
  std::uint64_t buffer_bytes = 0;   // error
  std::uint32_t received = 0;       // resume: over the queue pair that failed
  std::uint16_t pair = 0;           // resume: of ports, that the path goes over from now on
  std::uint16_t ports = 0;          // introduction, answer, ports: a bit for each that is up
  std::uint16_t members = 0;        // introduction, answer
  std::uint16_t data_paths = 0;     // introduction: wanted
  // answer, ready, resume (none: it could not be opened over that pair)
  std::vector<PathAddress> addresses;
  // introduction: the user's hello; goodbye: what was delivered over each path, 32 bits each
  std::vector<std::byte> blob;
};

ControlFrame to_frame(const ControlMessage& message);
// Code::peer_lost: lengths that do not fit together.
Result<ControlMessage> from_frame(const ControlFrame& frame);

}  // namespace thinwire::transports::verbs
