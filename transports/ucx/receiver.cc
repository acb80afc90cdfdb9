#include "transports/ucx/receiver.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "transports/ucx/registrations.h"

namespace thinwire::transports::ucx {

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
    slot->memory = Registrations::type_of(buffers[i].memory);
    slot->group = group;
    slot->index = static_cast<int>(i);
    slot->receiver = this;
    if (Message* message = matcher_.post(slot)) place(slot, message);
  }
}

bool Receiver::arrive(const ActiveMessage& message) {
  if (ended_ || failure_.failed()) return false;
  const bool charged = message.header.charged != 0;
  if (charged) arrived_ += cost_of(message.bytes);
  if (arrived_ - taken_ > kWindowBytes) {
    failure_ = {Code::peer_lost, "the peer sent more than was granted"};
    return false;
  }
  if (message.header.sequence != next_sequence_) {
    early_.emplace(message.header.sequence, keep(message));
    return true;
  }
  ++next_sequence_;
  Slot* slot = matcher_.take_slot(message.header.tag);
  if (slot == nullptr) {
    matcher_.keep(keep(message));
  } else if (!fits(message.bytes, *slot)) {
    return false;
  } else if (message.descriptor) {
    fetch(slot, message.data, message.bytes, charged);
  } else {
    place_eager(slot, message.data, message.bytes, charged);
  }
  while (!early_.empty() && early_.begin()->first == next_sequence_ && failure_.ok()) {
    Message* next = early_.begin()->second;
    early_.erase(early_.begin());
    ++next_sequence_;
    admit(next);
  }
  return true;
}

Receiver::Message* Receiver::keep(const ActiveMessage& message) {
  Message* kept = messages_.take();
  kept->tag = message.header.tag;
  kept->bytes = message.bytes;
  kept->charged = message.header.charged != 0;
  kept->descriptor = message.descriptor ? message.data : nullptr;
  if (!message.descriptor && message.bytes > 0) {
    kept->copy = std::make_unique_for_overwrite<std::byte[]>(message.bytes);
    std::memcpy(kept->copy.get(), message.data, message.bytes);
    unexpected_bytes_ += message.bytes;
  }
  return kept;
}

void Receiver::admit(Message* message) {
  if (Slot* slot = matcher_.take_slot(message->tag))
    place(slot, message);
  else
    matcher_.keep(message);
}

void Receiver::give_back(Message* message) {
  message->copy.reset();
  message->descriptor = nullptr;
  messages_.give_back(message);
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
  // What does not fit stays a live message, for refuse_waiting().
  if (!fits(message->bytes, *slot)) return;
  if (message->descriptor != nullptr)
    fetch(slot, message->descriptor, message->bytes, message->charged);
  else
    place_eager(slot, message->copy.get(), message->bytes, message->charged);
  give_back(message);
}

void Receiver::place_eager(Slot* slot, const void* data, std::size_t bytes, bool charged) {
  if (bytes > 0) std::memcpy(slot->data, data, bytes);
  if (charged) taken_ += cost_of(bytes);
  slot->message_bytes = bytes;
  finish(slot);
}

void Receiver::fetch(Slot* slot, void* descriptor, std::size_t bytes, bool charged) {
  if (charged) taken_ += cost_of(bytes);
  slot->message_bytes = bytes;
  ucp_request_param_t parameters =
      request_parameters(slot->request.of_bytes(context_.request_bytes()), slot->memory, slot);
  parameters.cb.recv_am = &Receiver::fetched;
  ++in_flight_;
  const ucs_status_ptr_t started =
      context_.api().am_recv_data_nbx(worker_.native(), descriptor, slot->data, bytes, &parameters);
  if (UCS_PTR_IS_PTR(started)) return;
  --in_flight_;
  if (UCS_PTR_STATUS(started) == UCS_OK)
    finish(slot);
  else
    broken(UCS_PTR_STATUS(started));
}

void Receiver::fetched(void*, ucs_status_t status, std::size_t, void* slot) {
  auto* ours = static_cast<Slot*>(slot);
  Receiver& receiver = *ours->receiver;
  --receiver.in_flight_;
  if (receiver.ended_) return;
  if (status == UCS_OK)
    receiver.finish(ours);
  else
    receiver.broken(status);
}

void Receiver::broken(ucs_status_t status) {
  if (failure_.ok()) failure_ = {Code::peer_lost, "UCX failed to receive from the peer", status};
}

void Receiver::finish(Slot* slot) {
  Group* group = slot->group;
  group->bytes[static_cast<std::size_t>(slot->index)] = slot->message_bytes;
  slots_.give_back(slot);
  if (--group->unfinished > 0) return;
  finished_.push(connection_, {group->cookie, {}, group->count, group->bytes});
  groups_.give_back(group);
}

void Receiver::refuse_waiting() {
  messages_.for_each_live([&](Message& message) {
    if (message.descriptor == nullptr) return;
    context_.api().am_data_release(worker_.native(), message.descriptor);
    message.descriptor = nullptr;
  });
}

void Receiver::fail(const Status& status) {
  ended_ = true;
  if (failure_.ok()) failure_ = status;
  std::vector<const Group*> left;
  groups_.for_each_live([&](const Group& group) { left.push_back(&group); });
  std::ranges::sort(left, {}, &Group::order);
  for (const Group* group : left) finished_.push(connection_, {group->cookie, status, 0, {}});
  groups_.for_each_live([&](Group& group) { groups_.give_back(&group); });
  matcher_.clear();
}

}  // namespace thinwire::transports::ucx
