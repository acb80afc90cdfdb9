// The receiving half of a connection: matches messages with posted buffers, places eager ones,
// has UCX fetch the others, which may go to GPU memory. Owner: a Channel; one thread.
//
// Memory: at most kWindowBytes (costs counted) of eager messages wait in heap buffers or UCX's; of
// a rendezvous only UCX's description waits, and a peer has a bounded number of them outstanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "base/status.h"
#include "transports/containers.h"
#include "transports/finished.h"
#include "transports/tag_matcher.h"
#include "transports/transport.h"
#include "transports/ucx/context.h"
#include "transports/ucx/message.h"
#include "transports/ucx/operation.h"
#include "transports/ucx/worker.h"

namespace thinwire::transports::ucx {

// What did not fit, for the log and the peer.
struct Oversize {
  std::uint64_t message_bytes = 0;
  std::uint64_t buffer_bytes = 0;
};

class Receiver {
 public:
  Receiver(const Context& context, Worker& worker, std::uint32_t connection, Finished& finished)
      : context_(context), worker_(worker), connection_(connection), finished_(finished) {}

  // A message that is longer than its buffer fails this Receiver.
  void post(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie);
  // False: a rendezvous that is not taken.
  bool arrive(const ActiveMessage& message);

  const Status& failure() const { return failure_; }
  const Oversize& oversize() const { return oversize_; }
  // Operations whose buffers UCX may still write.
  std::size_t in_flight() const { return in_flight_; }
  // From now on no message reaches a buffer, but for what UCX is fetching.
  void stop() { ended_ = true; }
  // Lets the peer go on with what it announced and nobody took. UCX's worker is alive.
  void refuse_waiting();
  // Completes what is posted with `status`. UCX has let go of it all.
  void fail(const Status& status);

  std::uint64_t messages() const { return next_sequence_; }
  std::uint64_t unexpected_bytes() const { return unexpected_bytes_; }
  // Whole ones, without a buffer so far.
  bool holds_messages() const {
    return messages_.any_live(
        [&](const Message& message) { return message.descriptor == nullptr; });
  }
  std::size_t posted_groups() const { return groups_.in_use(); }
  // Cost of all charged messages that were matched, since the start.
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
    ucs_memory_type_t memory = UCS_MEMORY_TYPE_HOST;
    Group* group = nullptr;
    int index = 0;
    std::size_t message_bytes = 0;
    Receiver* receiver = nullptr;
    RequestMemory request;
    Slot* next = nullptr;
  };
  // One that came before its turn or its buffer.
  struct Message {
    bool live = false;
    std::uint64_t tag = 0;
    std::size_t bytes = 0;
    bool charged = false;
    std::unique_ptr<std::byte[]> copy;
    void* descriptor = nullptr;  // UCX's, instead of a copy
    Message* next = nullptr;
  };

  Message* keep(const ActiveMessage& message);
  void admit(Message* message);
  void give_back(Message* message);
  // False: too long.
  bool fits(std::size_t bytes, const Slot& slot);
  void place(Slot* slot, Message* message);
  void place_eager(Slot* slot, const void* data, std::size_t bytes, bool charged);
  void fetch(Slot* slot, void* descriptor, std::size_t bytes, bool charged);
  static void fetched(void* request, ucs_status_t status, std::size_t bytes, void* slot);
  void finish(Slot* slot);
  void broken(ucs_status_t status);

  const Context& context_;
  Worker& worker_;
  const std::uint32_t connection_;
  Finished& finished_;
  TagMatcher<Slot, Message> matcher_;
  Recycler<Group> groups_;
  Recycler<Slot> slots_;
  Recycler<Message> messages_;
  std::map<std::uint64_t, Message*> early_;  // by sequence
  std::uint64_t next_sequence_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t arrived_ = 0;  // cost, as taken_
  std::uint64_t taken_ = 0;
  std::uint64_t unexpected_bytes_ = 0;
  std::size_t in_flight_ = 0;
  bool ended_ = false;
  Status failure_;
  Oversize oversize_;
};

}  // namespace thinwire::transports::ucx
