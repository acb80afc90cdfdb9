#include "transports/verbs/receiver.h"

#include <algorithm>
#include <cstring>

namespace thinwire::transports::verbs {

Receiver::Receiver(Registrations& registrations, Sender& sender, DeviceJobs& jobs,
                   std::uint32_t connection, Finished& finished, std::size_t members)
    : registrations_(registrations),
      sender_(sender),
      jobs_(jobs),
      connection_(connection),
      finished_(finished),
      members_(members),
      written_(kMaxWritten) {
  for (std::uint16_t number = 0; number < kMaxWritten; ++number) free_numbers_.push_back(number);
}

void Receiver::post(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
  Group* group = groups_.take();
  group->order = posted_++;
  group->cookie = cookie;
  group->count = group->unfinished = static_cast<int>(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Slot* slot = slots_.take();
    slot->data = static_cast<std::byte*>(buffers[i].data);
    slot->capacity_bytes = buffers[i].bytes;
    slot->tag = buffers[i].tag;
    slot->memory = buffers[i].memory;
    slot->own_memory = false;
    slot->group = group;
    slot->index = static_cast<int>(i);
    if (Message* message = matcher_.post(slot)) place(slot, message);
  }
}

void Receiver::arrive(const MessageHeader& header, std::span<const std::byte> piece) {
  if (failure_.failed()) return;
  if (header.kind == MessageKind::data)
    take_piece(header, piece);
  else
    take_request(header);
}

void Receiver::begin_message(const MessageHeader& header) {
  current_bytes_ = static_cast<std::size_t>(header.message_bytes);
  current_at_ = 0;
  arrived_ += cost_of(current_bytes_);
  if (current_bytes_ > kMaxEagerBytes || arrived_ - taken_ > kWindowBytes) {
    return broken("the peer sent more than was granted");
  }
  current_slot_ = matcher_.take_slot(header.tag);
  const bool early = current_slot_ == nullptr;
  if (!early && !fits(current_bytes_, *current_slot_)) return;
  if (!early && device_memory(*current_slot_) == nullptr) return;
  Message* message = messages_.take();
  message->tag = header.tag;
  message->bytes = current_bytes_;
  message->announced = false;
  if (current_bytes_ > 0)
    message->copy = std::make_unique_for_overwrite<std::byte[]>(current_bytes_);
  if (early) unexpected_bytes_ += current_bytes_;
  current_message_ = message;
}

void Receiver::take_piece(const MessageHeader& header, std::span<const std::byte> piece) {
  if (current_slot_ == nullptr && current_message_ == nullptr) begin_message(header);
  if (failure_.failed()) return;
  if (header.message_bytes != current_bytes_ || header.offset != current_at_ ||
      piece.size() > current_bytes_ - current_at_) {
    return broken("the peer's pieces make no message");
  }
  std::byte* target =
      current_message_ != nullptr ? current_message_->copy.get() : current_slot_->data;
  if (!piece.empty()) std::memcpy(target + current_at_, piece.data(), piece.size());
  current_at_ += piece.size();
  if (current_at_ < current_bytes_) return;
  Slot* slot = std::exchange(current_slot_, nullptr);
  Message* message = std::exchange(current_message_, nullptr);
  if (message == nullptr) {
    taken_ += cost_of(current_bytes_);
    slot->message_bytes = current_bytes_;
    finish(slot);
    return;
  }
  // Its receive may have been posted while the pieces came.
  if (slot == nullptr) slot = matcher_.take_slot(message->tag);
  if (slot != nullptr)
    place(slot, message);
  else
    matcher_.keep(message);
}

void Receiver::take_request(const MessageHeader& header) {
  Message* message = messages_.take();
  message->tag = header.tag;
  message->bytes = static_cast<std::size_t>(header.message_bytes);
  message->announced = true;
  message->send = header.send;
  if (Slot* slot = matcher_.take_slot(header.tag))
    place(slot, message);
  else
    matcher_.keep(message);
}

bool Receiver::fits(std::size_t bytes, const Slot& slot) {
  if (bytes <= slot.capacity_bytes) return true;
  if (failure_.ok()) {
    oversize_ = {bytes, slot.capacity_bytes};
    failure_ = {Code::invalid_argument, "a message is longer than its receive buffer"};
  }
  return false;
}

void Receiver::place(Slot* slot, Message* message) {
  if (fits(message->bytes, *slot)) {
    slot->message_bytes = message->bytes;
    if (message->announced) {
      slot->send = message->send;
      waiting_to_write_.push_back(slot);
      start_waiting();
    } else {
      taken_ += cost_of(message->bytes);
      deliver(slot, message);
    }
  }
  message->copy.reset();
  messages_.give_back(message);
}

const Registered* Receiver::device_memory(const Slot& slot) const {
  const Registered* registered = registrations_.find(slot.memory);
  return registered != nullptr && registered->device_memory ? registered : nullptr;
}

void Receiver::deliver(Slot* slot, Message* message) {
  const Registered* guest = device_memory(*slot);
  if (guest != nullptr && message->bytes > 0) {
    jobs_.copy(slot->data, guest->remote_keys, std::move(message->copy), message->bytes, slot);
    return;
  }
  if (message->bytes > 0) std::memcpy(slot->data, message->copy.get(), message->bytes);
  finish(slot);
}

void Receiver::start_waiting() {
  while (!waiting_to_write_.empty() && !free_numbers_.empty() && failure_.ok()) {
    Slot* slot = waiting_to_write_.front();
    waiting_to_write_.pop_front();
    let_write(slot);
  }
}

Status Receiver::register_if_needed(Slot* slot) {
  if (registrations_.find(slot->memory) != nullptr) return {};
  auto added = registrations_.add(slot->data, slot->capacity_bytes, MemoryKind::host);
  if (!added.ok()) return added.status();
  slot->memory = added.value();
  slot->own_memory = true;
  return {};
}

void Receiver::let_write(Slot* slot) {
  if (const Status status = register_if_needed(slot); !status.ok()) {
    failure_ = status;
    return;
  }
  const std::uint16_t number = free_numbers_.back();
  free_numbers_.pop_back();
  Written& written = written_[number];
  written.slot = slot;
  written.parts_here = 0;
  ++written.generation;
  MessageHeader header;
  header.kind = MessageKind::clear;
  header.send = slot->send;
  header.address = reinterpret_cast<std::uintptr_t>(slot->data);
  header.immediate = Immediate{number, written.generation, 0, 1}.pack();
  sender_.tell(header, registrations_.find(slot->memory)->remote_keys, members_);
}

void Receiver::written(const Immediate& immediate) {
  if (failure_.failed()) return;
  if (immediate.number >= written_.size() || written_[immediate.number].slot == nullptr ||
      written_[immediate.number].generation != immediate.generation ||
      immediate.part >= immediate.parts) {
    return broken("the peer wrote what it was not asked for");
  }
  Written& written = written_[immediate.number];
  written.parts_here |= static_cast<std::uint16_t>(1u << immediate.part);
  if (written.parts_here != (1u << immediate.parts) - 1) return;
  Slot* slot = std::exchange(written.slot, nullptr);
  free_numbers_.push_back(immediate.number);
  finish(slot);
  start_waiting();
}

void Receiver::finish(Slot* slot) {
  Group* group = slot->group;
  group->bytes[static_cast<std::size_t>(slot->index)] = slot->message_bytes;
  give_back(slot);
  if (--group->unfinished > 0) return;
  finished_.push(connection_, {group->cookie, {}, group->count, group->bytes});
  groups_.give_back(group);
}

void Receiver::give_back(Slot* slot) {
  // Not removing it would only keep the memory locked: nothing to do about a failure here.
  if (slot->own_memory) static_cast<void>(registrations_.remove(slot->memory));
  slots_.give_back(slot);
}

void Receiver::fail(const Status& status) {
  if (failure_.ok()) failure_ = status;
  std::vector<const Group*> left;
  groups_.for_each_live([&](const Group& group) { left.push_back(&group); });
  std::ranges::sort(left, {}, &Group::order);
  for (const Group* group : left) finished_.push(connection_, {group->cookie, status, 0, {}});
  groups_.for_each_live([&](Group& group) { groups_.give_back(&group); });
  slots_.for_each_live([&](Slot& slot) { give_back(&slot); });
  matcher_.clear();
  waiting_to_write_.clear();
}

}  // namespace thinwire::transports::verbs
