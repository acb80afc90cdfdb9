// What a connection's receiving half keeps: posted buffers and messages on their way in.
// Owner: a Receiver; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transports/tag_matcher.h"
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

// All of it is held, for a slot that was not posted yet.
inline bool is_whole(const Incoming& message) {
  std::size_t bytes = 0;
  for (const HeldChunk& chunk : message.held) bytes += chunk.complete ? chunk.bytes : 0;
  return message.slot == nullptr && !message.held.empty() && bytes == message.total_bytes;
}

using Matcher = TagMatcher<Slot, Incoming>;

}  // namespace thinwire::transports::tcp
