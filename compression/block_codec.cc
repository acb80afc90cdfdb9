#include "compression/block_codec.h"

#include "compression/block_decode.h"
#include "compression/block_encode.h"
#include "compression/formats.h"

namespace thinwire::compression {
namespace {

// fp16 leaves float16 elements as they are.
template <class Format>
constexpr bool passes_through(DataType type) {
  return Format::kId == CodecId::fp16 && type == DataType::float16;
}

Status decode_halves(const std::byte* wire, std::size_t wire_bytes, const DecodeTarget& target,
                     std::size_t count) {
  if (wire_bytes != count * element_bytes(DataType::float16)) return malformed_frame();
  if (target.type == DataType::float16) {
    std::memcpy(target.elements, wire, wire_bytes);
    return {};
  }
  alignas(64) std::array<std::byte, kTileElements * sizeof(float)> halves;
  alignas(64) std::array<float, kTileElements> floats;
  for (std::size_t first = 0; first < count; first += kTileElements) {
    const std::size_t n = std::min(kTileElements, count - first);
    std::byte* const elements = target.elements + first * element_bytes(target.type);
    std::memcpy(halves.data(), wire + first * 2, n * 2);
    if (target.add) {
      reduce(DataType::float16, ReduceOp::sum, halves.data(), elements, n);
    } else {
      load(DataType::float16, halves.data(), floats.data(), n);
      store(target.type, floats.data(), elements, n);
    }
  }
  return {};
}

template <class Format>
Status decode_frame(const std::byte* wire, std::size_t wire_bytes, const DecodeTarget& target,
                    std::size_t count) {
  if (count == 0) return wire_bytes == 0 ? Status() : malformed_frame();
  DataType type{};
  const Status status = read_frame_header(wire, wire_bytes, Format::kId, count, type);
  if (!status.ok()) return status;
  if (passes_through<Format>(type)) {
    return decode_halves(wire + kFrameHeaderBytes, wire_bytes - kFrameHeaderBytes, target, count);
  }
  FrameDecoder<Format> decoder(target, type, count);
  return decoder.run(FrameReader(wire + kFrameHeaderBytes, wire + wire_bytes));
}

}  // namespace

template <class Format>
std::size_t BlockCodec<Format>::max_encoded_bytes(std::size_t count, DataType type) const {
  if (count == 0) return 0;
  using Code = typename Format::Code;
  const std::size_t full = count / kBlockElements, rest = count % kBlockElements;
  const std::size_t bytes = element_bytes(type);
  return kFrameHeaderBytes + block_count(count) * sizeof(Code) +
         count * sizeof(typename Format::Payload) +
         full * Format::max_escape_bytes(kBlockElements, bytes) +
         Format::max_escape_bytes(rest, bytes);
}

template <class Format>
std::size_t BlockCodec<Format>::encode(const void* elements, DataType type, std::size_t count,
                                       std::byte* wire) const {
  if (count == 0) return 0;
  if (passes_through<Format>(type)) {
    write_frame_header(wire, Format::kId, type, count);
    std::memcpy(wire + kFrameHeaderBytes, elements, count * element_bytes(type));
    return kFrameHeaderBytes + count * element_bytes(type);
  }
  FrameEncoder<Format> encoder(elements, type, count, wire);
  return static_cast<std::size_t>(encoder.run() - wire);
}

template <class Format>
Status BlockCodec<Format>::decode(const std::byte* wire, std::size_t wire_bytes, DataType type,
                                  std::size_t count, void* elements) const {
  return decode_frame<Format>(wire, wire_bytes, {static_cast<std::byte*>(elements), type, false},
                              count);
}

template <class Format>
Status BlockCodec<Format>::decode_add(const std::byte* wire, std::size_t wire_bytes,
                                      std::size_t count, float* accumulator) const {
  return decode_frame<Format>(wire, wire_bytes,
                              {reinterpret_cast<std::byte*>(accumulator), DataType::float32, true},
                              count);
}

template class BlockCodec<Fp16Format>;
template class BlockCodec<Int8Format>;

}  // namespace thinwire::compression
