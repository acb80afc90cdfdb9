#include "transports/tcp/receiver.h"

#include <algorithm>
#include <cstring>

namespace thinwire::transports::tcp {

namespace {
std::uint64_t cost_of(std::size_t chunk_bytes) { return chunk_bytes + kFrameHeaderBytes; }
}  // namespace

Status Receiver::post(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
  ReceiveGroup* group = groups_.take();
  group->order = posted_++;
  group->cookie = cookie;
  group->count = group->unfinished = static_cast<int>(buffers.size());
  Status status;
  for (std::size_t i = 0; i < buffers.size() && status.ok(); ++i) {
    Slot* slot = slots_.take();
    slot->data = static_cast<std::byte*>(buffers[i].data);
    slot->capacity_bytes = buffers[i].bytes;
    slot->tag = buffers[i].tag;
    slot->group = group;
    slot->index = static_cast<int>(i);
    if (Incoming* message = matcher_.post(slot)) status = match(message, slot);
  }
  return status;
}

Result<Incoming*> Receiver::find_or_create(const FrameHeader& header) {
  if (!tracked_.empty()) {
    if (const auto at = tracked_.find(header.sequence); at != tracked_.end()) {
      Incoming* message = at->second;
      if (message->tag != header.tag || message->total_bytes != header.total_bytes) {
        return Status(Code::peer_lost, "the peer's chunks contradict one another");
      }
      return message;
    }
  }
  if (header.sequence < next_sequence_) {
    return Status(Code::peer_lost, "the peer sent a chunk of a message that is complete");
  }
  Incoming* message = messages_.take();
  message->sequence = header.sequence;
  message->tag = header.tag;
  message->total_bytes = header.total_bytes;
  message->landed_bytes = 0;
  message->landed_chunks = 0;
  message->slot = nullptr;
  message->tracked = header.chunk_bytes < header.total_bytes || header.sequence != next_sequence_;
  if (message->tracked) tracked_.emplace(header.sequence, message);
  const Status status = admit_in_order(message);
  if (!status.ok()) return status;
  return message;
}

// Messages are matched in the order of their sequence numbers, though their chunks come on
// different streams.
Status Receiver::admit_in_order(Incoming* message) {
  if (message->sequence != next_sequence_) {
    ++early_;
    return {};
  }
  Status status = admit(message);
  ++next_sequence_;
  while (status.ok() && early_ > 0) {
    const auto at = tracked_.find(next_sequence_);
    if (at == tracked_.end()) break;
    --early_;
    ++next_sequence_;
    status = admit(at->second);
  }
  return status;
}

Status Receiver::admit(Incoming* message) {
  if (Slot* slot = matcher_.take_slot(message->tag)) return match(message, slot);
  matcher_.keep(message);
  return {};
}

Status Receiver::match(Incoming* message, Slot* slot) {
  message->slot = slot;
  if (message->total_bytes > slot->capacity_bytes) {
    oversize_ = {message->total_bytes, slot->capacity_bytes};
    return {Code::invalid_argument, "a message is longer than its receive buffer"};
  }
  for (HeldChunk& chunk : message->held) {
    if (!chunk.complete) continue;
    if (chunk.bytes > 0) std::memcpy(slot->data + chunk.offset, chunk.data.get(), chunk.bytes);
    chunk.data.reset();
    land(message, chunk.bytes);
  }
  finish_if_complete(message);
  return {};
}

void Receiver::land(Incoming* message, std::size_t bytes) {
  message->landed_bytes += bytes;
  ++message->landed_chunks;
  taken_ += cost_of(bytes);
}

void Receiver::finish_if_complete(Incoming* message) {
  if (message->landed_bytes != message->total_bytes || message->landed_chunks == 0) return;
  ReceiveGroup* group = message->slot->group;
  group->bytes[static_cast<std::size_t>(message->slot->index)] = message->total_bytes;
  if (--group->unfinished == 0) {
    completions_.push({group->cookie, {}, group->count, group->bytes});
    groups_.give_back(group);
  }
  slots_.give_back(message->slot);
  if (message->tracked) tracked_.erase(message->sequence);
  message->held.clear();
  messages_.give_back(message);
}

bool Receiver::would_wait(const FrameHeader& header) const {
  if (!tracked_.empty()) {
    const auto at = tracked_.find(header.sequence);
    if (at != tracked_.end()) return at->second->slot == nullptr;
  }
  return header.sequence != next_sequence_ || !matcher_.has_slot(header.tag);
}

Result<Landing> Receiver::chunk_begins(const FrameHeader& header) {
  arrived_ += cost_of(header.chunk_bytes);
  if (arrived_ - taken_ > window_bytes_) {
    return Status(Code::peer_lost, "the peer sent more than was granted");
  }
  const Result<Incoming*> found = find_or_create(header);
  if (!found.ok()) return found.status();
  Incoming* message = found.value();
  if (message->slot != nullptr) {
    return Landing{header.chunk_bytes == 0 ? nullptr : message->slot->data + header.offset, message,
                   -1};
  }
  unexpected_bytes_ += header.chunk_bytes;
  HeldChunk& chunk = message->held.emplace_back();
  if (header.chunk_bytes > 0) {
    chunk.data = std::make_unique_for_overwrite<std::byte[]>(header.chunk_bytes);
  }
  chunk.offset = header.offset;
  chunk.bytes = header.chunk_bytes;
  return Landing{chunk.data.get(), message, static_cast<int>(message->held.size()) - 1};
}

void Receiver::chunk_ended(const FrameHeader& header, const Landing& landing) {
  Incoming* message = landing.message;
  if (landing.held >= 0) {
    HeldChunk& chunk = message->held[static_cast<std::size_t>(landing.held)];
    chunk.complete = true;
    if (message->slot == nullptr) return;
    // Its buffer was posted while the chunk was being read.
    if (chunk.bytes > 0) {
      std::memcpy(message->slot->data + chunk.offset, chunk.data.get(), chunk.bytes);
    }
    chunk.data.reset();
  }
  land(message, header.chunk_bytes);
  finish_if_complete(message);
}

void Receiver::fail(const Status& status) {
  std::vector<const ReceiveGroup*> left;
  groups_.for_each_live([&](const ReceiveGroup& group) { left.push_back(&group); });
  std::ranges::sort(left, {}, &ReceiveGroup::order);
  for (const ReceiveGroup* group : left) completions_.push({group->cookie, status, 0, {}});
  groups_.for_each_live([&](ReceiveGroup& group) { groups_.give_back(&group); });
}

}  // namespace thinwire::transports::tcp
