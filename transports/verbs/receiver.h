// The receiving half of a connection: matches messages with posted buffers, copies short ones out
// of their slots, names the peer the buffers of long ones. Owner: a Channel; one thread.
//
// Memory: at most kWindowBytes (costs counted) of short messages wait in heap buffers; of a long
// one only its announcement waits, and a peer has a bounded number of them outstanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "transports/containers.h"
#include "transports/finished.h"
#include "transports/tag_matcher.h"
#include "transports/transport.h"
#include "transports/verbs/device_jobs.h"
#include "transports/verbs/message.h"
#include "transports/verbs/registrations.h"
#include "transports/verbs/sender.h"

namespace thinwire::transports::verbs {

// What did not fit, for the log and the peer.
struct Oversize {
  std::uint64_t message_bytes = 0;
  std::uint64_t buffer_bytes = 0;
};

class Receiver {
 public:
  // `sender`: of the same connection, for what the peer is to be told; `jobs` too, for copies into
  // GPU memory. `members`: of the Endpoint.
  Receiver(Registrations& registrations, Sender& sender, DeviceJobs& jobs, std::uint32_t connection,
           Finished& finished, std::size_t members);

  // A failure, a message that is longer than its buffer say, is in failure() from then on.
  void post(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie);
  // A piece or an announcement arrived; `piece` is what follows the header.
  void arrive(const MessageHeader& header, std::span<const std::byte> piece);
  // A part of a long message is written.
  void written(const Immediate& immediate);

  // What DeviceJobs::next_copied() gave.
  void copied(void* owner) { finish(static_cast<Slot*>(owner)); }

  const Status& failure() const { return failure_; }
  const Oversize& oversize() const { return oversize_; }
  // Completes what is posted with `status`. The paths are closed.
  void fail(const Status& status);

  std::uint64_t unexpected_bytes() const { return unexpected_bytes_; }
  // Whole ones, without a buffer so far.
  bool holds_messages() const {
    return messages_.any_live(
        [&](const Message& message) { return !message.announced && &message != current_message_; });
  }
  std::size_t posted_groups() const { return groups_.in_use(); }
  // Cost of all short messages that came, and of those that were matched, since the start.
  std::uint64_t arrived() const { return arrived_; }
  std::uint64_t taken() const { return taken_; }

 private:
  struct Group {
    bool live = false;
    std::uint64_t order = 0;
    std::uint64_t cookie = 0;
    int count = 0;
    int unfinished = 0;
    std::array<std::size_t, kMaxGroupedReceives> bytes{};
  };
  struct Slot {
    bool live = false;
    std::byte* data = nullptr;
    std::size_t capacity_bytes = 0;
    std::uint64_t tag = 0;
    MemoryKey memory;
    bool own_memory = false;  // registered for this receive alone
    Group* group = nullptr;
    int index = 0;
    std::size_t message_bytes = 0;
    std::uint32_t send = 0;  // the peer's number of the message, while it waits to be written
    Slot* next = nullptr;
  };
  // One that came before its buffer.
  struct Message {
    bool live = false;
    std::uint64_t tag = 0;
    std::size_t bytes = 0;
    std::unique_ptr<std::byte[]> copy;  // null: an announcement, or no bytes
    bool announced = false;
    std::uint32_t send = 0;
    Message* next = nullptr;
  };
  struct Written {
    Slot* slot = nullptr;  // null: free
    std::uint8_t generation = 0;
    std::uint16_t parts_here = 0;  // a bit for each
  };

  void begin_message(const MessageHeader& header);
  void take_piece(const MessageHeader& header, std::span<const std::byte> piece);
  void take_request(const MessageHeader& header);
  // False: too long.
  bool fits(std::size_t bytes, const Slot& slot);
  void place(Slot* slot, Message* message);
  void deliver(Slot* slot, Message* message);
  // Null: the processor may write there.
  const Registered* device_memory(const Slot& slot) const;
  void let_write(Slot* slot);
  void start_waiting();
  Status register_if_needed(Slot* slot);
  void finish(Slot* slot);
  void give_back(Slot* slot);
  void broken(const char* text) {
    if (failure_.ok()) failure_ = {Code::peer_lost, text};
  }

  Registrations& registrations_;
  Sender& sender_;
  DeviceJobs& jobs_;
  const std::uint32_t connection_;
  Finished& finished_;
  const std::size_t members_;
  TagMatcher<Slot, Message> matcher_;
  Recycler<Group> groups_;
  Recycler<Slot> slots_;
  Recycler<Message> messages_;
  std::vector<Written> written_;
  std::vector<std::uint16_t> free_numbers_;  // of written_
  Ring<Slot*> waiting_to_write_;
  // The message whose pieces are arriving: they come one after the other. Both, where its buffer is
  // GPU memory and it is put together first.
  Slot* current_slot_ = nullptr;
  Message* current_message_ = nullptr;
  std::size_t current_bytes_ = 0;
  std::size_t current_at_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t arrived_ = 0;  // cost, as taken_
  std::uint64_t taken_ = 0;
  std::uint64_t unexpected_bytes_ = 0;
  Status failure_;
  Oversize oversize_;
};

}  // namespace thinwire::transports::verbs
