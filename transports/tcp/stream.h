// One socket of a connection: a queue of frames on their way out, a parser of frames coming in.
// Owner: a Connection; one thread. Never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "transports/containers.h"
#include "transports/tcp/frame.h"
#include "transports/tcp/receiver.h"
#include "transports/tcp/sender.h"
#include "transports/tcp/socket.h"

namespace thinwire::transports::tcp {

// Who is told about arriving frames. A failed answer ends reading.
class FrameSink {
 public:
  // True: leave this chunk where it is, and the stream with it, until the next read().
  virtual bool defers(const FrameHeader& header) = 0;
  virtual Result<Landing> chunk_begins(const FrameHeader& header) = 0;
  virtual void chunk_ended(const FrameHeader& header, const Landing& landing) = 0;
  virtual Status control_arrived(const FrameHeader& header) = 0;

 protected:
  ~FrameSink() = default;
};

// How long a chunk without a posted buffer stays in the socket, in the hope that its receive is
// posted any moment: that saves a copy, but holds up what is behind it. Where the hope was in vain
// there is none for a while.
class Patience {
 public:
  bool allows_waiting(std::int64_t now_ns);
  void satisfied() { since_ns_ = -1; }

 private:
  std::int64_t since_ns_ = -1;
  std::int64_t exhausted_until_ns_ = 0;
  int looks_ = 0;
};

class Stream {
 public:
  explicit Stream(UniqueFd fd);

  int fd() const { return fd_.get(); }

  // --- out ---
  void push(const OutFrame& frame);
  // Ahead of all that is not on its way yet.
  void push_control(const FrameHeader& header);
  // Forgets the frames of which the kernel has no byte yet.
  void drop_unsent();
  // Hands frames to the kernel until it takes no more; appends to `sent` the messages whose chunks
  // it now has (one entry a chunk). A broken pipe is no failure here: reading says what happened.
  Status flush(std::vector<OutMessage*>& sent);
  bool has_queued() const { return !frames_.empty() && !write_broken_; }
  bool is_mid_frame() const { return front_sent_ > 0 && !write_broken_; }
  std::size_t queued_bytes() const { return queued_bytes_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  // Bytes that wait in the kernel for the window, the pace or the NIC. What is on its way is not
  // counted: its acknowledgement may be delayed by 40 ms.
  std::size_t kernel_backlog() const;
  // Frames have to wait for the socket.
  bool is_blocked() const { return blocked_; }

  // --- in ---
  // Reads what is there, at most about `budget_bytes`. would_block: all of it was read. ok: there
  // may be more, or a chunk was deferred. Anything else ends the stream; Code::peer_lost with
  // native 0 is a closed one.
  Status read(FrameSink& sink, std::size_t budget_bytes);
  std::uint64_t bytes_received() const { return bytes_received_; }

  Patience patience;
  bool readable = true;  // by the endpoint's knowledge; cleared when all was read
  bool hung_up = false;  // the socket reported an end: read until it is seen
  bool peer_said_bye = false;
  bool ended = false;  // after an orderly end: nothing more to read

 private:
  struct InChunk {
    FrameHeader header;
    Landing landing;
    std::size_t filled_bytes = 0;
  };
  Status parse(FrameSink& sink);
  Status begin_frame(FrameSink& sink);
  Status end_chunk(FrameSink& sink);
  void take_staged_payload();
  void account_sent(std::size_t bytes, std::vector<OutMessage*>& sent);
  std::size_t wanted_staging() const;

  UniqueFd fd_;
  Ring<OutFrame> frames_;
  std::size_t front_sent_ = 0;    // bytes of the front frame that the kernel has
  std::size_t queued_bytes_ = 0;  // not in the kernel yet
  std::uint64_t bytes_sent_ = 0;
  bool blocked_ = false;
  bool write_broken_ = false;

  std::unique_ptr<std::byte[]> staging_;
  std::size_t staged_from_ = 0;
  std::size_t staged_to_ = 0;
  std::optional<InChunk> chunk_;
  bool deferred_ = false;  // a whole header is staged and waits for the next read()
  bool bulk_ = false;      // the last chunk was large: read headers alone, payload in place
  std::uint64_t bytes_received_ = 0;
};

}  // namespace thinwire::transports::tcp
