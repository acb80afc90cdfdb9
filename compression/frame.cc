#include "compression/frame.h"

#include "compression/float_bits.h"

namespace thinwire::compression {
namespace {

constexpr std::uint64_t kFormat = 1;
constexpr int kCountShift = 16;

std::uint64_t header(CodecId codec, DataType type, std::size_t count) {
  const std::uint64_t kind = (static_cast<std::uint64_t>(codec) << 4) | kFormat;
  return kind | (static_cast<std::uint64_t>(type) << 8) |
         (static_cast<std::uint64_t>(count) << kCountShift);
}

}  // namespace

Status malformed_frame() { return {Code::peer_lost, "malformed compressed frame"}; }

void write_frame_header(std::byte* wire, CodecId codec, DataType type, std::size_t count) {
  write_as(wire, header(codec, type, count));
}

Status read_frame_header(const std::byte* wire, std::size_t wire_bytes, CodecId codec,
                         std::size_t count, DataType& type) {
  if (wire_bytes < kFrameHeaderBytes) return malformed_frame();
  const auto found = read_as<std::uint64_t>(wire);
  const auto type_byte = static_cast<unsigned>((found >> 8) & 0xffu);
  if (type_byte >= kDataTypeCount) return malformed_frame();
  type = static_cast<DataType>(type_byte);
  if (!is_compressible(type) || found != header(codec, type, count)) return malformed_frame();
  return {};
}

}  // namespace thinwire::compression
