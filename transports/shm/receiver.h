// The receiving half of a connection: matches messages with posted buffers and copies them there,
// or lends out the chunk they lie in. What has no buffer yet stays in the lane, while it takes up
// no more than a quarter of it, else in the heap, up to kWindowBytes. Owner: a ShmConnection; one
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "transports/containers.h"
#include "transports/finished.h"
#include "transports/shm/lane.h"
#include "transports/shm/remote_memory.h"
#include "transports/tag_matcher.h"
#include "transports/transport.h"

namespace thinwire::transports::shm {

class Receiver {
 public:
  Receiver(std::uint32_t connection, Finished& finished)
      : connection_(connection), finished_(finished) {}

  // From now on it receives. `lane` and `remote` live until this is destroyed.
  void wire(Lane& lane, const RemoteMemory& remote) {
    lane_ = &lane;
    remote_ = &remote;
  }

  void post(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie);
  // Takes what has arrived. True when anything moved.
  bool progress();
  bool has_work() const { return lane_->written.load(std::memory_order_acquire) != taken_; }
  // Since the last call it took or returned something.
  bool moved() { return std::exchange(moved_, false); }
  // `view` is a completion's.
  void give_back(const void* view);
  // Completes what is posted with `status`; views stay.
  void fail(const Status& status);

  // A message did not fit, or the lane holds nonsense.
  const Status& failure() const { return failure_; }
  std::size_t message_bytes() const { return oversize_message_; }
  std::size_t buffer_bytes() const { return oversize_buffer_; }
  // Whole ones, without a buffer so far.
  bool holds_messages() const {
    return messages_.any_live([&](const Message& message) {
      return &message != current_message_ && !is_exposed(message.parts.front().entry);
    });
  }
  std::size_t posted_groups() const { return groups_.in_use(); }
  std::uint64_t unexpected_bytes() const { return unexpected_bytes_; }

 private:
  struct Group {
    bool live = false;
    std::uint64_t order = 0;
    int unfinished = 0;
    Completion completion;
  };
  struct Slot {
    bool live = false;
    std::byte* data = nullptr;
    std::size_t capacity_bytes = 0;
    std::uint64_t tag = 0;
    bool borrow = false;
    Group* group = nullptr;
    int index = 0;
    Slot* next = nullptr;
  };
  struct Part {
    Entry entry;
    std::unique_ptr<std::byte[]> copy;  // null: it is in its chunk
  };
  // One without a buffer, whole or in part.
  struct Message {
    bool live = false;
    std::uint64_t tag = 0;
    std::vector<Part> parts;
    Message* next = nullptr;
  };
  // Chunks of one size that are not given back at once: how many.
  struct Held {
    std::uint32_t lent = 0;
    std::uint32_t unmatched = 0;
  };

  bool is_sound(const Entry& entry) const;
  void arrive(const Entry& entry);
  void begin(const Entry& entry);
  bool fits(const Entry& entry, const Slot& slot);
  void keep(const Entry& entry);
  void place(const Entry& entry, Slot& slot);
  void place_kept(const Part& part, Slot& slot);
  bool lend(const Entry& entry, Slot& slot);
  Held& held(std::uint32_t place) { return place < kSmallChunks ? held_small_ : held_large_; }
  void take_message(Message* message, Slot* slot);
  void finish(Slot* slot, std::size_t bytes);
  void return_place(std::uint32_t place);
  void break_off(const char* why);

  const std::uint32_t connection_;
  Finished& finished_;
  Lane* lane_ = nullptr;
  const RemoteMemory* remote_ = nullptr;
  TagMatcher<Slot, Message> matcher_;
  Recycler<Group> groups_;
  Recycler<Slot> slots_;
  Recycler<Message> messages_;
  // The message whose parts are arriving: where to, and how far it is.
  Slot* current_slot_ = nullptr;
  Message* current_message_ = nullptr;
  std::uint64_t current_bytes_ = 0;
  std::uint64_t arrived_bytes_ = 0;  // of its parts, placed or not
  std::uint64_t placed_bytes_ = 0;   // in current_slot_
  std::uint64_t posted_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t returned_ = 0;
  Held held_small_;
  Held held_large_;
  std::size_t heap_bytes_ = 0;
  std::uint64_t unexpected_bytes_ = 0;
  bool moved_ = false;
  Status failure_;
  std::size_t oversize_message_ = 0;
  std::size_t oversize_buffer_ = 0;
};

}  // namespace thinwire::transports::shm
