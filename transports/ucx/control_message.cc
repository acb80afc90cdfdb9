#include "transports/ucx/control_message.h"

#include <cstring>
#include <utility>

namespace thinwire::transports::ucx {

namespace {

// Moves fields in one order, for both directions.
template <class Move>
void move_fields(ControlMessage& message, Move&& move) {
  move(message.kind);
  move(message.watching);
  move(message.channel);
  move(message.endpoint);
  move(message.domain);
  move(message.window_bytes);
  move(message.code);
  move(message.message_bytes);
  move(message.buffer_bytes);
  move(message.messages);
}

}  // namespace

ControlFrame to_frame(ControlMessage message) {
  ControlFrame frame;
  std::size_t at = 0;
  move_fields(message, [&](const auto& field) {
    std::memcpy(frame.fields.data() + at, &field, sizeof field);
    at += sizeof field;
  });
  frame.blob = std::move(message.blob);
  return frame;
}

ControlMessage from_frame(ControlFrame frame) {
  ControlMessage message;
  std::size_t at = 0;
  move_fields(message, [&](auto& field) {
    std::memcpy(&field, frame.fields.data() + at, sizeof field);
    at += sizeof field;
  });
  message.blob = std::move(frame.blob);
  return message;
}

}  // namespace thinwire::transports::ucx
