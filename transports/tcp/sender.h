// The sending half of a connection: cuts messages into chunks within the window that the peer
// granted. Owner: a Connection; one thread. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "transports/containers.h"
#include "transports/tcp/completions.h"
#include "transports/tcp/frame.h"

namespace thinwire::transports::tcp {

struct OutMessage {
  bool live = false;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t cut_bytes = 0;  // already in chunks
  std::uint64_t tag = 0;
  std::uint64_t cookie = 0;
  std::uint64_t sequence = 0;
  int unsent_chunks = 0;  // cut, but not wholly in the kernel
};

// A frame that waits for its socket.
struct OutFrame {
  FrameBytes header;
  const std::byte* payload = nullptr;
  std::size_t payload_bytes = 0;
  OutMessage* message = nullptr;  // null for control frames
};

class Sender {
 public:
  Sender(std::size_t chunk_bytes, bool checksum_payload, Completions& completions)
      : chunk_bytes_(chunk_bytes), checksum_payload_(checksum_payload), completions_(completions) {}

  // Before the first message: what the peer can buffer.
  void set_window(std::uint64_t window_bytes);

  bool has_room() const { return messages_.in_use() < kMaxMessages; }
  void post(const void* data, std::size_t bytes, std::uint64_t tag, std::uint64_t cookie);

  // Whether next_chunk() has one.
  bool has_chunk();
  // The next chunk of the oldest message that has any, at most `limit_bytes` of payload
  // (0: no limit but the configured one). Call only after has_chunk().
  OutFrame next_chunk(std::size_t limit_bytes);
  // The kernel has all of a chunk of `message`.
  void chunk_sent(OutMessage* message);
  // The peer took frames of this cost since the start.
  Status granted(std::uint64_t total_cost);

  void fail(const Status& status);

  bool idle() const { return messages_.in_use() == 0; }
  std::uint64_t payload_sent() const { return payload_sent_; }
  std::uint64_t messages_sent() const { return messages_sent_; }
  // Frames that the peer did not take yet.
  std::uint64_t outstanding() const { return cut_cost_ - granted_cost_; }

 private:
  static constexpr std::size_t kMaxMessages = 4096;

  std::size_t chunk_bytes_;
  const bool checksum_payload_;
  Completions& completions_;
  Recycler<OutMessage> messages_;
  Ring<OutMessage*> uncut_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t window_bytes_ = 0;
  std::uint64_t cut_cost_ = 0;
  std::uint64_t granted_cost_ = 0;
  std::uint64_t payload_sent_ = 0;
  std::uint64_t messages_sent_ = 0;
};

}  // namespace thinwire::transports::tcp
