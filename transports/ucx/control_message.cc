#include "transports/ucx/control_message.h"

#include <cstring>

#include "transports/ucx/message.h"

namespace thinwire::transports::ucx {

namespace {

constexpr std::uint32_t kPreludeMagic = 0x43585754;  // "TWXC" in memory

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

std::array<std::byte, kPreludeBytes> encode_prelude(const ControlMessage& message) {
  std::array<std::byte, kPreludeBytes> bytes{};
  std::size_t at = 0;
  const auto put = [&](auto& field) {
    std::memcpy(bytes.data() + at, &field, sizeof field);
    at += sizeof field;
  };
  std::uint32_t magic = kPreludeMagic;
  std::uint16_t version = kFormatVersion;
  std::uint16_t reserved = 0;
  auto blob_bytes = static_cast<std::uint64_t>(message.blob.size());
  put(magic);
  put(version);
  put(reserved);
  put(blob_bytes);
  ControlMessage copy = message;
  move_fields(copy, put);
  return bytes;
}

Result<Prelude> decode_prelude(std::span<const std::byte, kPreludeBytes> bytes) {
  std::size_t at = 0;
  const auto get = [&](auto& field) {
    std::memcpy(&field, bytes.data() + at, sizeof field);
    at += sizeof field;
  };
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint16_t reserved = 0;
  std::uint64_t blob_bytes = 0;
  get(magic);
  get(version);
  get(reserved);
  get(blob_bytes);
  if (magic != kPreludeMagic) return Status(Code::peer_lost, "the peer's transport is not UCX");
  if (version != kFormatVersion) {
    return Status(Code::peer_lost, "the peer's Thinwire speaks another version of the UCX format",
                  version);
  }
  Prelude prelude;
  move_fields(prelude.message, get);
  if (blob_bytes > kMaxBlobBytes) {
    return Status(Code::peer_lost, "the peer's control message is too long");
  }
  prelude.blob_bytes = static_cast<std::size_t>(blob_bytes);
  return prelude;
}

}  // namespace thinwire::transports::ucx
