#include "compression/exact_frame.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "compression/frame.h"
#include "compression/reduce.h"

namespace thinwire::compression {
namespace {

// Elements are converted in pieces that the first-level cache holds.
constexpr std::size_t kPieceElements = 1024;

class ExactFrames final : public Codec {
 public:
  CodecId id() const override { return CodecId::none; }
  bool lossy() const override { return false; }
  bool supports(DataType type) const override { return is_compressible(type); }

  std::size_t max_encoded_bytes(std::size_t count, DataType type) const override {
    return count == 0 ? 0 : kFrameHeaderBytes + count * element_bytes(type);
  }

  std::size_t encode(const void* elements, DataType type, std::size_t count, std::byte* wire,
                     const EncodeContext& context) const override {
    if (count == 0) return 0;
    write_frame_header(wire, CodecId::none, type, count);
    const std::size_t valid = std::min(count, context.valid) * element_bytes(type);
    std::byte* payload = wire + kFrameHeaderBytes;
    std::memcpy(payload, elements, valid);
    std::memset(payload + valid, 0, count * element_bytes(type) - valid);
    return max_encoded_bytes(count, type);
  }

  Status decode(const std::byte* wire, std::size_t wire_bytes, DataType type, std::size_t count,
                void* elements) const override {
    if (count == 0) return wire_bytes == 0 ? Status() : malformed_frame();
    DataType sent{};
    if (const Status status = check(wire, wire_bytes, count, sent); !status.ok()) return status;
    const std::byte* payload = wire + kFrameHeaderBytes;
    if (sent == type) {
      std::memcpy(elements, payload, count * element_bytes(type));
      return {};
    }
    auto* out = static_cast<std::byte*>(elements);
    in_float32(payload, sent, count, [&](std::size_t first, float* values, std::size_t n) {
      store(type, values, out + first * element_bytes(type), n);
    });
    return {};
  }

  Status decode_add(const std::byte* wire, std::size_t wire_bytes, std::size_t count,
                    float* accumulator) const override {
    if (count == 0) return wire_bytes == 0 ? Status() : malformed_frame();
    DataType sent{};
    if (const Status status = check(wire, wire_bytes, count, sent); !status.ok()) return status;
    in_float32(wire + kFrameHeaderBytes, sent, count,
               [&](std::size_t first, float* values, std::size_t n) {
                 reduce(DataType::float32, ReduceOp::sum, values, accumulator + first, n);
               });
    return {};
  }

 private:
  static Status check(const std::byte* wire, std::size_t wire_bytes, std::size_t count,
                      DataType& sent) {
    const Status status = read_frame_header(wire, wire_bytes, CodecId::none, count, sent);
    if (!status.ok()) return status;
    const std::size_t payload = wire_bytes - kFrameHeaderBytes;
    return payload == count * element_bytes(sent) ? Status() : malformed_frame();
  }

  // Gives `body` the payload's elements as float32, piece by piece; wire memory is not aligned.
  template <class Body>
  static void in_float32(const std::byte* payload, DataType sent, std::size_t count,
                         const Body& body) {
    alignas(64) std::array<std::byte, kPieceElements * sizeof(float)> aligned;
    std::array<float, kPieceElements> values;
    for (std::size_t first = 0; first < count; first += kPieceElements) {
      const std::size_t n = std::min(kPieceElements, count - first);
      std::memcpy(aligned.data(), payload + first * element_bytes(sent), n * element_bytes(sent));
      load(sent, aligned.data(), values.data(), n);
      body(first, values.data(), n);
    }
  }
};

}  // namespace

const Codec& exact_frames() {
  static const ExactFrames instance;
  return instance;
}

Result<CodecId> codec_of_frame(const std::byte* wire, std::size_t wire_bytes) {
  if (wire_bytes < kFrameHeaderBytes) return malformed_frame();
  const unsigned id = static_cast<unsigned>(wire[0]) >> 4;
  if (id > static_cast<unsigned>(CodecId::topk)) return malformed_frame();
  return static_cast<CodecId>(id);
}

}  // namespace thinwire::compression
