// The receiving half of a connection: places chunks, completes posted receives, counts what may
// be granted back to the sender. Owner: a Connection; one thread. No I/O.
//
// Memory: at most window_bytes of frames (headers counted) wait in heap buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/status.h"
#include "transports/containers.h"
#include "transports/tcp/completions.h"
#include "transports/tcp/frame.h"
#include "transports/tcp/incoming.h"

namespace thinwire::transports::tcp {

// Where the payload of a chunk goes.
struct Landing {
  std::byte* at = nullptr;  // null only for an empty chunk
  Incoming* message = nullptr;
  int held = -1;  // index of the held chunk, -1: directly into the posted buffer
};

// What did not fit, for the log and the peer.
struct Oversize {
  std::uint64_t message_bytes = 0;
  std::uint64_t buffer_bytes = 0;
};

class Receiver {
 public:
  Receiver(std::uint64_t window_bytes, Completions& completions)
      : window_bytes_(window_bytes), completions_(completions) {}

  // Code::invalid_argument: a waiting message is longer than its buffer (oversize() says by how
  // much); the connection has failed then.
  Status post(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie);

  // Whether a chunk would have to wait in a heap buffer if it came now.
  bool would_wait(const FrameHeader& header) const;
  // A chunk's header came. Fails as post() does, or with Code::peer_lost when the peer breaks the
  // protocol. The landing stays valid until chunk_ended().
  Result<Landing> chunk_begins(const FrameHeader& header);
  void chunk_ended(const FrameHeader& header, const Landing& landing);

  // Completes all that is posted with `status`.
  void fail(const Status& status);

  // Cost (payload and headers) of all chunks that left the window, since the start.
  std::uint64_t taken() const { return taken_; }
  std::uint64_t unexpected_bytes() const { return unexpected_bytes_; }
  const Oversize& oversize() const { return oversize_; }
  // Whole ones, without a buffer so far.
  bool holds_messages() const { return messages_.any_live(is_whole); }
  std::size_t posted_groups() const { return groups_.in_use(); }
  std::size_t waiting_tags() const { return matcher_.waiting_tags(); }

 private:
  Result<Incoming*> find_or_create(const FrameHeader& header);
  Status admit_in_order(Incoming* message);
  Status admit(Incoming* message);
  Status match(Incoming* message, Slot* slot);
  void land(Incoming* message, std::size_t bytes);
  void finish_if_complete(Incoming* message);

  const std::uint64_t window_bytes_;
  Completions& completions_;
  Matcher matcher_;
  Recycler<ReceiveGroup> groups_;
  Recycler<Slot> slots_;
  Recycler<Incoming> messages_;
  // Messages of several chunks, and those that wait for an earlier one.
  std::unordered_map<std::uint64_t, Incoming*> tracked_;
  std::uint64_t next_sequence_ = 0;  // the first that was not admitted to matching yet
  std::size_t early_ = 0;            // messages that wait for an earlier one
  std::uint64_t posted_ = 0;
  std::uint64_t arrived_ = 0;  // cost, as taken_
  std::uint64_t taken_ = 0;
  std::uint64_t unexpected_bytes_ = 0;
  Oversize oversize_;
};

}  // namespace thinwire::transports::tcp
