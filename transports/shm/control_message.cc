#include "transports/shm/control_message.h"

#include <array>
#include <cstring>
#include <utility>

namespace thinwire::transports::shm {

namespace {
using Fields = std::array<std::uint64_t, 5>;
static_assert(sizeof(Fields) <= ControlFrame::kFieldBytes);
}  // namespace

ControlFrame to_frame(ControlMessage message) {
  const Fields fields{static_cast<std::uint64_t>(message.kind), message.socket.token[0],
                      message.socket.token[1], message.nonce, message.error};
  ControlFrame frame;
  std::memcpy(frame.fields.data(), fields.data(), sizeof fields);
  frame.blob = std::move(message.hello);
  return frame;
}

ControlMessage from_frame(ControlFrame frame) {
  Fields fields;
  std::memcpy(fields.data(), frame.fields.data(), sizeof fields);
  return {static_cast<ControlKind>(fields[0]),
          {{fields[1], fields[2]}},
          fields[3],
          fields[4],
          std::move(frame.blob)};
}

}  // namespace thinwire::transports::shm
