#include "transports/verbs/control_message.h"

#include <cstring>

namespace thinwire::transports::verbs {

namespace {

// Moves fields in one order, for both directions.
template <class Message, class Move>
void move_fields(Message& message, Move&& move) {
  move(message.kind);
  move(message.path);
  move(message.epoch);
  move(message.hello_bytes);
  move(message.slots);
  move(message.slot_bytes);
  move(message.window_bytes);
  move(message.code);
  move(message.message_bytes);
  move(message.buffer_bytes);
  move(message.received);
  move(message.pair);
  move(message.ports);
  move(message.members);
  move(message.data_paths);
}

}  // namespace

ControlFrame to_frame(const ControlMessage& message) {
  ControlFrame frame;
  std::size_t at = 0;
  move_fields(message, [&](const auto& field) {
    std::memcpy(frame.fields.data() + at, &field, sizeof field);
    at += sizeof field;
  });
  const auto count = static_cast<std::uint32_t>(message.addresses.size());
  std::memcpy(frame.fields.data() + at, &count, sizeof count);
  const std::size_t address_bytes = count * sizeof(PathAddress);
  frame.blob.resize(address_bytes + message.blob.size());
  if (count > 0) std::memcpy(frame.blob.data(), message.addresses.data(), address_bytes);
  std::copy(message.blob.begin(), message.blob.end(),
            frame.blob.begin() + static_cast<std::ptrdiff_t>(address_bytes));
  return frame;
}

Result<ControlMessage> from_frame(const ControlFrame& frame) {
  ControlMessage message;
  std::size_t at = 0;
  move_fields(message, [&](auto& field) {
    std::memcpy(&field, frame.fields.data() + at, sizeof field);
    at += sizeof field;
  });
  std::uint32_t count = 0;
  std::memcpy(&count, frame.fields.data() + at, sizeof count);
  const std::size_t address_bytes = std::size_t{count} * sizeof(PathAddress);
  if (address_bytes > frame.blob.size() ||
      (message.kind == ControlKind::introduction &&
       message.hello_bytes != frame.blob.size() - address_bytes)) {
    return Status(Code::peer_lost, "the peer's control message makes no sense");
  }
  message.addresses.resize(count);
  if (count > 0) std::memcpy(message.addresses.data(), frame.blob.data(), address_bytes);
  message.blob.assign(frame.blob.begin() + static_cast<std::ptrdiff_t>(address_bytes),
                      frame.blob.end());
  return message;
}

}  // namespace thinwire::transports::verbs
