#include "compression/block_codec.h"

#include "compression/block_decode.h"
#include "compression/block_encode.h"
#include "compression/formats.h"

namespace thinwire::compression {
namespace {

// Elements of the codec's own type travel as they are.
template <class Format>
constexpr bool is_native(DataType type) {
  if constexpr (Format::kHasNative) return type == Format::kNative;
  return false;
}

Status decode_native(DataType type, const std::byte* wire, std::size_t wire_bytes,
                     const DecodeTarget& target, std::size_t count) {
  if (wire_bytes != count * element_bytes(type)) return malformed_frame();
  if (target.type == type) {
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
      reduce(type, ReduceOp::sum, halves.data(), elements, n);
    } else {
      load(type, halves.data(), floats.data(), n);
      store(target.type, floats.data(), elements, n);
    }
  }
  return {};
}

// `after_tile(first)` is called when the tile that begins at `first` was decoded.
template <class Format, class AfterTile>
Status decode_frame(const std::byte* wire, std::size_t wire_bytes, const DecodeTarget& target,
                    std::size_t count, const AfterTile& after_tile) {
  if (count == 0) return wire_bytes == 0 ? Status() : malformed_frame();
  DataType type{};
  Status status = read_frame_header(wire, wire_bytes, Format::kId, count, type);
  if (!status.ok()) return status;
  if (Format::kCodeBytes != 0 && is_native<Format>(type)) {
    status = decode_native(type, wire + kFrameHeaderBytes, wire_bytes - kFrameHeaderBytes, target,
                           count);
    for (std::size_t first = 0; status.ok() && first < count; first += kTileElements) {
      after_tile(first);
    }
    return status;
  }
  FrameDecoder<Format> decoder(target, count);
  status = decoder.start(wire, wire_bytes);
  for (std::size_t first = 0; status.ok() && first < count; first += kTileElements) {
    if (!decoder.try_decode_tile(first)) return malformed_frame();
    after_tile(first);
  }
  if (!status.ok()) return status;
  return decoder.at_end() ? Status() : malformed_frame();
}

// Elements of type kNative, and what of the residual still fits them.
std::size_t encode_native(EncodeInput& input, const EncodeContext& context, std::byte* to) {
  const DataType type = input.type();
  const std::size_t bytes = input.count() * element_bytes(type);
  const std::size_t valid = input.valid() * element_bytes(type);
  if (context.residual == nullptr) {
    if (valid != 0) std::memcpy(to, input.raw(0), valid);
    std::memset(to + valid, 0, bytes - valid);
    return bytes;
  }
  alignas(64) std::array<std::byte, kBlockElements * 2> halves;
  alignas(64) std::array<float, kBlockElements> back;
  for (std::size_t first = 0; first < input.count(); first += kBlockElements) {
    const std::size_t n = std::min(kBlockElements, input.count() - first);
    const float* const x = input.floats(first, n);
    if (absmax(x, n) >= kInfinityBits) {
      input.load_alone(first, n, back.data());
      store(type, back.data(), halves.data(), n);
    } else {
      store(type, x, halves.data(), n);
      load(type, halves.data(), back.data(), n);
      float* const residual = input.residual(first);
      for (std::size_t i = 0; i < input.valid_of(first, n); ++i) residual[i] = x[i] - back[i];
    }
    std::memcpy(to + first * 2, halves.data(), n * 2);
  }
  return bytes;
}

}  // namespace

template <class Format>
std::size_t BlockCodec<Format>::max_encoded_bytes(std::size_t count, DataType type) const {
  if (count == 0) return 0;
  const std::size_t bytes =
      kFrameHeaderBytes + block_count(count) * Format::kCodeBytes + payload_bytes<Format>(count);
  if constexpr (Format::kCodeBytes == 0) {
    return bytes;
  } else {
    const std::size_t element = element_bytes(type);
    return bytes + count / kBlockElements * Format::max_escape_bytes(kBlockElements, element) +
           Format::max_escape_bytes(count % kBlockElements, element);
  }
}

template <class Format>
std::size_t BlockCodec<Format>::encode(const void* elements, DataType type, std::size_t count,
                                       std::byte* wire, const EncodeContext& context) const {
  if (count == 0) return 0;
  EncodeInput input(elements, type, count, context);
  if (is_native<Format>(type)) {
    write_frame_header(wire, Format::kId, type, count);
    return kFrameHeaderBytes + encode_native(input, context, wire + kFrameHeaderBytes);
  }
  FrameEncoder<Format> encoder(input, stochastic_ ? &context.noise : nullptr, wire);
  std::byte* end = wire;
  for (std::size_t first = 0; first < count; first += kTileElements) {
    end = encoder.encode_tile(first);
  }
  return static_cast<std::size_t>(end - wire);
}

template <class Format>
Status BlockCodec<Format>::decode(const std::byte* wire, std::size_t wire_bytes, DataType type,
                                  std::size_t count, void* elements) const {
  const DecodeTarget target{static_cast<std::byte*>(elements), type, false};
  return decode_frame<Format>(wire, wire_bytes, target, count, [](std::size_t) {});
}

template <class Format>
Status BlockCodec<Format>::decode_add(const std::byte* wire, std::size_t wire_bytes,
                                      std::size_t count, float* accumulator) const {
  const DecodeTarget target{reinterpret_cast<std::byte*>(accumulator), DataType::float32, true};
  return decode_frame<Format>(wire, wire_bytes, target, count, [](std::size_t) {});
}

template <class Format>
Result<std::size_t> BlockCodec<Format>::decode_add_encode(const std::byte* from,
                                                          std::size_t from_bytes, std::size_t count,
                                                          float* accumulator, std::byte* wire,
                                                          const EncodeContext& context) const {
  if (count == 0) return Codec::decode_add_encode(from, from_bytes, 0, accumulator, wire, context);
  EncodeInput input(accumulator, DataType::float32, count, context);
  FrameEncoder<Format> encoder(input, stochastic_ ? &context.noise : nullptr, wire);
  std::byte* end = wire;
  const DecodeTarget target{reinterpret_cast<std::byte*>(accumulator), DataType::float32, true};
  const Status status =
      decode_frame<Format>(from, from_bytes, target, count,
                           [&](std::size_t first) { end = encoder.encode_tile(first); });
  if (!status.ok()) return status;
  return static_cast<std::size_t>(end - wire);
}

template class BlockCodec<Fp16Format>;
template class BlockCodec<Bf16Format>;
template class BlockCodec<Int8Format>;
template class BlockCodec<Int4Format>;
template class BlockCodec<E4m3Format>;
template class BlockCodec<E5m2Format>;

}  // namespace thinwire::compression
