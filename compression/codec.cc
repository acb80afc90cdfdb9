#include "compression/codec.h"

#include <cstring>

#include "compression/block_codec.h"
#include "compression/formats.h"
#include "compression/topk_codec.h"

namespace thinwire::compression {
namespace {

class NoneCodec final : public Codec {
 public:
  CodecId id() const override { return CodecId::none; }
  bool lossy() const override { return false; }
  bool supports(DataType) const override { return true; }
  std::size_t max_encoded_bytes(std::size_t count, DataType type) const override {
    return count * element_bytes(type);
  }
  std::size_t encode(const void* elements, DataType type, std::size_t count, std::byte* wire,
                     const EncodeContext&) const override {
    const std::size_t bytes = count * element_bytes(type);
    if (bytes != 0) std::memcpy(wire, elements, bytes);
    return bytes;
  }
  Status decode(const std::byte* wire, std::size_t wire_bytes, DataType type, std::size_t count,
                void* elements) const override {
    if (wire_bytes != count * element_bytes(type)) {
      return {Code::peer_lost, "exact frame of the wrong length"};
    }
    if (wire_bytes != 0) std::memcpy(elements, wire, wire_bytes);
    return {};
  }
  Status decode_add(const std::byte*, std::size_t, std::size_t, float*) const override {
    return {Code::internal_error, "decode_add needs a lossy codec"};
  }
};

}  // namespace

Result<std::size_t> Codec::decode_add_encode(const std::byte* from, std::size_t from_bytes,
                                             std::size_t count, float* accumulator, std::byte* wire,
                                             const EncodeContext& context) const {
  const Status status = decode_add(from, from_bytes, count, accumulator);
  if (!status.ok()) return status;
  return encode(accumulator, DataType::float32, count, wire, context);
}

std::unique_ptr<const Codec> make_codec(const CodecSpec& spec) {
  switch (spec.id) {
    case CodecId::fp16:
      return std::make_unique<BlockCodec<Fp16Format>>(false);
    case CodecId::int8:
      return std::make_unique<BlockCodec<Int8Format>>(spec.stochastic);
    case CodecId::bf16:
      return std::make_unique<BlockCodec<Bf16Format>>(spec.stochastic);
    case CodecId::int4:
      return std::make_unique<BlockCodec<Int4Format>>(spec.stochastic);
    case CodecId::fp8_e4m3:
      return std::make_unique<BlockCodec<E4m3Format>>(spec.stochastic);
    case CodecId::fp8_e5m2:
      return std::make_unique<BlockCodec<E5m2Format>>(spec.stochastic);
    case CodecId::topk:
      return std::make_unique<TopkCodec>(spec.ratio, spec.value);
    case CodecId::none:
      break;
  }
  return std::make_unique<NoneCodec>();
}

const Codec& codec(CodecId id) {
  static const NoneCodec none;
  static const BlockCodec<Fp16Format> fp16(false);
  static const BlockCodec<Int8Format> int8(false);
  static const BlockCodec<Bf16Format> bf16(false);
  static const BlockCodec<Int4Format> int4(false);
  static const BlockCodec<E4m3Format> e4m3(false);
  static const BlockCodec<E5m2Format> e5m2(false);
  const Codec* const codecs[] = {&none, &fp16, &int8, &bf16, &int4, &e4m3, &e5m2};
  return *codecs[static_cast<std::size_t>(id)];
}

}  // namespace thinwire::compression
