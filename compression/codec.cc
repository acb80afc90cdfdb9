#include "compression/codec.h"

#include <cstring>

#include "compression/block_codec.h"
#include "compression/formats.h"

namespace thinwire::compression {
namespace {

class NoneCodec final : public Codec {
 public:
  CodecId id() const override { return CodecId::none; }
  std::string_view name() const override { return "none"; }
  bool lossy() const override { return false; }
  bool supports(DataType) const override { return true; }
  std::size_t max_encoded_bytes(std::size_t count, DataType type) const override {
    return count * element_bytes(type);
  }
  std::size_t encode(const void* elements, DataType type, std::size_t count,
                     std::byte* wire) const override {
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

const Codec& codec(CodecId id) {
  static const NoneCodec none;
  static const BlockCodec<Fp16Format> fp16;
  static const BlockCodec<Int8Format> int8;
  switch (id) {
    case CodecId::none:
      return none;
    case CodecId::fp16:
      return fp16;
    case CodecId::int8:
      return int8;
  }
  return none;
}

}  // namespace thinwire::compression
