// Which message goes into which posted buffer: first come, first matched, per tag.
// Owner: a Receiver; one thread. State of a tag vanishes once nothing waits for it, because
// collectives use every tag only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transports/transport.h"

namespace thinwire::transports::tcp {

// Buffers that were posted together and complete together.
struct ReceiveGroup {
  bool live = false;
  std::uint64_t order = 0;  // of posting
  std::uint64_t cookie = 0;
  int count = 0;
  int unfinished = 0;
  std::array<std::size_t, kMaxGroupedReceives> bytes{};
};

// One posted buffer.
struct Slot {
  bool live = false;
  std::byte* data = nullptr;
  std::size_t capacity_bytes = 0;
  std::uint64_t tag = 0;
  ReceiveGroup* group = nullptr;
  int index = 0;  // in its group
  Slot* next = nullptr;
};

// A chunk that came before its message had a buffer.
struct HeldChunk {
  std::unique_ptr<std::byte[]> data;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool complete = false;
};

// One message on its way in.
struct Incoming {
  bool live = false;
  bool tracked = false;  // found again by its sequence number
  std::uint64_t sequence = 0;
  std::uint64_t tag = 0;
  std::size_t total_bytes = 0;
  std::size_t landed_bytes = 0;  // in the slot's buffer
  int landed_chunks = 0;
  Slot* slot = nullptr;
  std::vector<HeldChunk> held;
  Incoming* next = nullptr;
};

class Matcher {
 public:
  // The oldest waiting message of the slot's tag, which is taken out; null: the slot waits.
  Incoming* post(Slot* slot);
  // The oldest waiting slot of the message's tag, which is taken out; null: the message waits.
  Slot* arrive(Incoming* message);

  // Whether a message of this tag would find a buffer.
  bool has_slot(std::uint64_t tag) const {
    const auto at = tags_.find(tag);
    return at != tags_.end() && at->second.first_slot != nullptr;
  }
  std::size_t waiting_tags() const { return tags_.size(); }

 private:
  // Either slots or messages wait for a tag, never both.
  struct Waiting {
    Slot* first_slot = nullptr;
    Slot* last_slot = nullptr;
    Incoming* first_message = nullptr;
    Incoming* last_message = nullptr;
  };
  using Tags = std::unordered_map<std::uint64_t, Waiting>;
  Waiting& waiting_for(std::uint64_t tag);
  void forget(Tags::iterator at);

  Tags tags_;
  std::vector<Tags::node_type> spare_nodes_;  // saves an allocation a tag
};

}  // namespace thinwire::transports::tcp
