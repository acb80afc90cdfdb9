// Frames: what flows on a stream once it is introduced. docs/wire_format.md, "Frames".
// Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace thinwire::transports::tcp {

inline constexpr std::size_t kFrameHeaderBytes = 48;
// No sender cuts larger chunks; a receiver refuses them.
inline constexpr std::size_t kMaxChunkBytes = 64u << 20;

enum class FrameType : std::uint8_t {
  chunk = 1,  // a piece of a message, followed by chunk_bytes of payload
  grant = 2,  // total_bytes: payload bytes of this connection that were taken, since its start
  ping = 3,
  pong = 4,
  error = 5,  // the connection failed; offset: the Code, total_bytes and tag: its particulars
  bye = 6,    // an orderly end: nothing follows on this stream
};

struct FrameHeader {
  FrameType type = FrameType::chunk;
  bool has_payload_crc = false;
  std::uint32_t chunk_bytes = 0;
  std::uint64_t sequence = 0;  // of the message, from 0, per direction
  std::uint64_t tag = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t offset = 0;
  std::uint32_t payload_crc = 0;
};

using FrameBytes = std::array<std::byte, kFrameHeaderBytes>;

void encode_frame(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out);

// Nothing when magic, checksum, type or ranges are wrong: the stream is broken then.
std::optional<FrameHeader> decode_frame(std::span<const std::byte, kFrameHeaderBytes> bytes);

}  // namespace thinwire::transports::tcp
