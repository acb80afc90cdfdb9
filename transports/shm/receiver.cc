#include "transports/shm/receiver.h"

#include <algorithm>
#include <cstring>

namespace thinwire::transports::shm {

namespace {
// Of messages without a buffer, beside what the lane holds.
constexpr std::size_t kWindowBytes = std::size_t{4} << 20;

constexpr std::uint32_t chunks_like(std::uint32_t place) {
  return place < kSmallChunks ? kSmallChunks : kLargeChunks;
}
}  // namespace

void Receiver::post(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
  Group* group = groups_.take();
  group->order = posted_++;
  group->unfinished = static_cast<int>(buffers.size());
  group->completion = {};
  group->completion.cookie = cookie;
  group->completion.count = group->unfinished;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Slot* slot = slots_.take();
    slot->data = static_cast<std::byte*>(buffers[i].data);
    slot->capacity_bytes = buffers[i].bytes;
    slot->tag = buffers[i].tag;
    slot->borrow = buffers[i].borrow && buffers.size() == 1;
    slot->group = group;
    slot->index = static_cast<int>(i);
    if (Message* message = matcher_.post(slot)) take_message(message, slot);
  }
}

void Receiver::take_message(Message* message, Slot* slot) {
  const Part& first = message->parts.front();
  const std::uint64_t bytes = first.entry.message_bytes;
  if (!fits(first.entry, *slot)) return;
  const bool arriving = message == current_message_;
  std::byte* const begin = slot->data;
  std::uint64_t placed = 0;
  for (const Part& part : message->parts) {
    const Entry& entry = part.entry;
    if (part.copy == nullptr && entry.bytes > 0) {
      --held(entry.place).unmatched;
      if (lend(entry, *slot)) {
        message->parts.clear();
        return messages_.give_back(message);
      }
    }
    slot->data = begin + placed;
    place_kept(part, *slot);
    placed += is_exposed(entry) ? entry.message_bytes : entry.bytes;
  }
  slot->data = begin;
  message->parts.clear();
  messages_.give_back(message);
  if (arriving) {
    current_message_ = nullptr;
    current_slot_ = slot;
    placed_bytes_ = placed;
  } else if (failure_.ok()) {
    finish(slot, static_cast<std::size_t>(bytes));
  }
}

bool Receiver::is_sound(const Entry& entry) const {
  const std::uint64_t left =
      arrived_bytes_ < current_bytes_ ? current_bytes_ - arrived_bytes_ : entry.message_bytes;
  if (entry.bytes == 0) {
    return arrived_bytes_ >= current_bytes_ &&
           (entry.message_bytes == 0 ||
            (is_exposed(entry) && entry.place < kChunks + kExposures && remote_->is_readable()));
  }
  return entry.place < kChunks && entry.bytes <= capacity_of(entry.place) && entry.bytes <= left;
}

bool Receiver::progress() {
  const std::uint64_t written = lane_->written.load(std::memory_order_acquire);
  if (written == taken_) return false;
  if (written - taken_ > kEntries) break_off("the peer's lane is corrupt");
  while (taken_ != written && failure_.ok()) {
    const Entry entry = lane_->entries[taken_ % kEntries];
    ++taken_;
    if (is_sound(entry))
      arrive(entry);
    else
      break_off("the peer's lane is corrupt");
  }
  lane_->taken.store(taken_, std::memory_order_release);
  moved_ = true;
  return true;
}

void Receiver::begin(const Entry& entry) {
  current_bytes_ = entry.message_bytes;
  arrived_bytes_ = placed_bytes_ = 0;
  current_slot_ = matcher_.take_slot(entry.tag);
  if (current_slot_ != nullptr) {
    fits(entry, *current_slot_);
    return;
  }
  current_message_ = messages_.take();
  current_message_->tag = entry.tag;
  matcher_.keep(current_message_);
}

void Receiver::arrive(const Entry& entry) {
  if (arrived_bytes_ >= current_bytes_) begin(entry);
  if (!failure_.ok()) return;
  arrived_bytes_ += is_exposed(entry) ? entry.message_bytes : entry.bytes;
  const bool whole = arrived_bytes_ >= current_bytes_;
  if (current_message_ != nullptr) {
    keep(entry);
    if (whole) current_message_ = nullptr;
    return;
  }
  Slot& slot = *current_slot_;
  if (whole) current_slot_ = nullptr;
  if (lend(entry, slot)) return;
  slot.data += placed_bytes_;
  place(entry, slot);
  slot.data -= placed_bytes_;
  placed_bytes_ += entry.bytes;
  if (whole && failure_.ok()) finish(&slot, static_cast<std::size_t>(current_bytes_));
}

// What nobody waits for yet must not take all chunks from what somebody does wait for.
void Receiver::keep(const Entry& entry) {
  Part part{entry, nullptr};
  if (entry.bytes > 0) {
    Held& kept = held(entry.place);
    if (kept.unmatched >= chunks_like(entry.place) / 4 &&
        heap_bytes_ + entry.bytes <= kWindowBytes) {
      part.copy = std::make_unique_for_overwrite<std::byte[]>(entry.bytes);
      std::memcpy(part.copy.get(), lane_->chunk(entry.place), entry.bytes);
      heap_bytes_ += entry.bytes;
      unexpected_bytes_ += entry.bytes;
      return_place(entry.place);
    } else {
      ++kept.unmatched;
    }
  }
  current_message_->parts.push_back(std::move(part));
}

void Receiver::place_kept(const Part& part, Slot& slot) {
  if (part.copy == nullptr) return place(part.entry, slot);
  std::memcpy(slot.data, part.copy.get(), part.entry.bytes);
  heap_bytes_ -= part.entry.bytes;
}

bool Receiver::fits(const Entry& entry, const Slot& slot) {
  if (entry.message_bytes <= slot.capacity_bytes) return true;
  if (failure_.ok()) {
    oversize_message_ = static_cast<std::size_t>(entry.message_bytes);
    oversize_buffer_ = slot.capacity_bytes;
    failure_ = {Code::invalid_argument, "a message is longer than its receive buffer"};
  }
  return false;
}

// Only half of the chunks: a borrower may hold what it has until it can send on, which may in turn
// wait, around a ring of ranks, for a chunk of this lane.
bool Receiver::lend(const Entry& entry, Slot& slot) {
  if (!slot.borrow || entry.bytes == 0 || entry.bytes != entry.message_bytes) return false;
  if (held(entry.place).lent >= chunks_like(entry.place) / 2) return false;
  ++held(entry.place).lent;
  slot.group->completion.view = lane_->chunk(entry.place);
  finish(&slot, entry.bytes);
  return true;
}

void Receiver::place(const Entry& entry, Slot& slot) {
  if (entry.bytes > 0) {
    std::memcpy(slot.data, lane_->chunk(entry.place), entry.bytes);
  } else if (is_exposed(entry)) {
    const Status read =
        remote_->read(entry.address, slot.data, static_cast<std::size_t>(entry.message_bytes));
    if (!read.ok()) return break_off(read.text());
    // The memory was the sender's to free from there on.
    if (lane_->end.load(std::memory_order_acquire) != End::open) return break_off(kPeerClosed);
  } else {
    return;
  }
  return_place(entry.place);
}

void Receiver::return_place(std::uint32_t place) {
  lane_->returns[returned_ % kReturns].store(place, std::memory_order_relaxed);
  lane_->returned.store(++returned_, std::memory_order_release);
  moved_ = true;
}

void Receiver::give_back(const void* view) {
  const std::uint32_t place = lane_->chunk_at(view);
  if (place >= kChunks) return;
  --held(place).lent;
  return_place(place);
}

void Receiver::finish(Slot* slot, std::size_t bytes) {
  Group* group = slot->group;
  group->completion.bytes[static_cast<std::size_t>(slot->index)] = bytes;
  slots_.give_back(slot);
  if (--group->unfinished > 0) return;
  finished_.push(connection_, group->completion);
  groups_.give_back(group);
}

void Receiver::break_off(const char* why) {
  if (failure_.ok()) failure_ = {Code::peer_lost, why};
}

void Receiver::fail(const Status& status) {
  break_off(status.text());
  std::vector<const Group*> left;
  groups_.for_each_live([&](const Group& group) { left.push_back(&group); });
  std::ranges::sort(left, {}, &Group::order);
  for (const Group* group : left) {
    finished_.push(connection_, {group->completion.cookie, status, 0, {}, nullptr});
  }
  groups_.for_each_live([&](Group& group) { groups_.give_back(&group); });
  slots_.for_each_live([&](Slot& slot) { slots_.give_back(&slot); });
  current_slot_ = nullptr;
  matcher_.clear();
}

}  // namespace thinwire::transports::shm
