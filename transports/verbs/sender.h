// The sending half of a connection: cuts short messages into slots, has long ones written into
// their receive buffer once the peer named it, completes posts. Owner: a Channel; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "transports/containers.h"
#include "transports/finished.h"
#include "transports/verbs/message.h"
#include "transports/verbs/path.h"
#include "transports/verbs/registrations.h"
#include "transports/verbs/slot_memory.h"

namespace thinwire::transports::verbs {

// What the receiving half has let go of; the two counts that every header tells the peer.
struct Freed {
  std::uint32_t slots = 0;
  std::uint64_t window = 0;
  std::uint64_t arrived = 0;  // cost of what came, let go of or not; not told
};

class Sender {
 public:
  // `staging`: what messages leave from. `paths`: the first for messages, the others for data.
  // Messages of more than `told_apart_bytes` are written without immediate data, which an empty
  // write behind them brings: switches may route the packets of the former each by itself.
  Sender(Registrations& registrations, const SlotMemory& staging,
         std::span<const std::unique_ptr<Path>> paths, std::uint32_t connection, Finished& finished,
         std::size_t max_write_bytes, std::size_t told_apart_bytes)
      : registrations_(registrations),
        staging_(staging),
        paths_(paths),
        connection_(connection),
        finished_(finished),
        max_write_bytes_(max_write_bytes),
        told_apart_bytes_(told_apart_bytes) {}

  // As Connection::post_send().
  Status post(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
              std::uint64_t cookie, const Freed& freed);
  // Queues the receiving half's answer to a request; flush() sends it, with the keys of
  // `members` members.
  void tell(const MessageHeader& header, const Keys& keys, std::size_t members);
  // Sends what is queued, and the counts alone when `freed` is due to be told.
  void flush(const Freed& freed);

  // The header of a message that arrived: its counts.
  void take_counts(const MessageHeader& header);
  // The peer lets a message be written with these keys. Code::peer_lost: none that was asked for.
  Status take_clear(const MessageHeader& header, std::span<const std::byte> keys);
  // Gives the paths more of what is to be written, as far as they have drained.
  void feed();
  // One of this half's requests is done.
  void work_done(const Work& work);

  // Completes what is outstanding with `status`. The paths are closed.
  void fail(const Status& status);

  bool idle() const { return sends_.in_use() == 0; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  enum class Phase : std::uint8_t { eager, asking, writing };
  struct Send {
    bool live = false;
    bool numbered = false;
    Phase phase = Phase::eager;
    std::uint32_t number = 0;
    int works = 0;  // under way
    std::uint64_t order = 0;
    std::uint64_t cookie = 0;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    MemoryKey memory;
    bool own_memory = false;  // registered for this send alone
    // While it is written:
    const Registered* source = nullptr;
    std::uint64_t address = 0;
    Keys keys{};
    Immediate immediate;
    std::size_t at = 0;      // given to paths so far
    std::uint16_t over = 0;  // a bit for each data path that has some of it
  };
  struct Answer {
    MessageHeader header;
    Keys keys{};
  };
  std::uint32_t room() const;
  Send* begin(const void* data, std::size_t bytes, MemoryKey memory, std::uint64_t cookie);
  void send_pieces(Send* send, MessageHeader header);
  void send_header(const MessageHeader& header, const void* piece, Send* owner, bool signalled);
  void write_whole(Send* send);
  // Writes as much as may be under way; true: all of it.
  bool write_some(Send* send);
  void end_parts(Send* send, std::size_t last, std::size_t bytes);
  // The last that goes over this path.
  void write_last(Send* send, std::size_t path, std::size_t bytes);
  void write(Send* send, std::size_t path, std::size_t bytes, bool tells);
  std::size_t quickest(std::size_t bytes) const;
  void finish(Send* send);
  void forget(Send* send);

  Registrations& registrations_;
  const SlotMemory& staging_;
  const std::span<const std::unique_ptr<Path>> paths_;
  const std::uint32_t connection_;
  Finished& finished_;
  const std::size_t max_write_bytes_;
  const std::size_t told_apart_bytes_;
  Freed told_;
  Recycler<Send> sends_;
  std::vector<Send*> numbered_;
  Ring<Answer> control_;
  Ring<Send*> striped_;         // being written over several paths, in turn
  std::uint32_t staged_ = 0;    // slots of staging taken, since the start
  std::uint32_t unstaged_ = 0;  // and given back
  std::uint32_t sent_ = 0;      // messages into the peer's slots
  std::uint32_t peer_freed_ = 0;
  std::uint64_t charged_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace thinwire::transports::verbs
