#include "transports/tcp/frame.h"

#include "transports/tcp/wire.h"

namespace thinwire::transports::tcp {

namespace {

constexpr std::uint16_t kFrameMagic = 0x5754;
constexpr std::uint8_t kHasPayloadCrc = 1;

enum Offset : std::size_t {
  kMagicAt = 0,
  kTypeAt = 2,
  kFlagsAt = 3,
  kChunkBytesAt = 4,
  kSequenceAt = 8,
  kTagAt = 16,
  kTotalBytesAt = 24,
  kOffsetAt = 32,
  kPayloadCrcAt = 40,
};

bool is_consistent(const FrameHeader& header) {
  if (header.type != FrameType::chunk) return header.chunk_bytes == 0;
  return header.chunk_bytes <= kMaxChunkBytes && header.offset <= header.total_bytes &&
         header.chunk_bytes <= header.total_bytes - header.offset &&
         (header.chunk_bytes > 0 || header.total_bytes == 0);
}

}  // namespace

void encode_frame(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out) {
  put(out, kMagicAt, kFrameMagic);
  put(out, kTypeAt, header.type);
  put(out, kFlagsAt, header.has_payload_crc ? kHasPayloadCrc : std::uint8_t{0});
  put(out, kChunkBytesAt, header.chunk_bytes);
  put(out, kSequenceAt, header.sequence);
  put(out, kTagAt, header.tag);
  put(out, kTotalBytesAt, header.total_bytes);
  put(out, kOffsetAt, header.offset);
  put(out, kPayloadCrcAt, header.payload_crc);
  seal(out);
}

std::optional<FrameHeader> decode_frame(std::span<const std::byte, kFrameHeaderBytes> bytes) {
  if (get<std::uint16_t>(bytes, kMagicAt) != kFrameMagic || !is_sealed(bytes)) return {};
  const auto type = get<std::uint8_t>(bytes, kTypeAt);
  if (type < 1 || type > static_cast<std::uint8_t>(FrameType::bye)) return {};
  FrameHeader header;
  header.type = static_cast<FrameType>(type);
  header.has_payload_crc = (get<std::uint8_t>(bytes, kFlagsAt) & kHasPayloadCrc) != 0;
  header.chunk_bytes = get<std::uint32_t>(bytes, kChunkBytesAt);
  header.sequence = get<std::uint64_t>(bytes, kSequenceAt);
  header.tag = get<std::uint64_t>(bytes, kTagAt);
  header.total_bytes = get<std::uint64_t>(bytes, kTotalBytesAt);
  header.offset = get<std::uint64_t>(bytes, kOffsetAt);
  header.payload_crc = get<std::uint32_t>(bytes, kPayloadCrcAt);
  if (!is_consistent(header)) return {};
  return header;
}

}  // namespace thinwire::transports::tcp
