// Frame: the 8 bytes before a lossy codec's blocks, and bounded reading of what follows.
// Values; any thread. Layout: docs/wire_format.md, "Codecs".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/data_type.h"
#include "base/status.h"
#include "compression/codec.h"
#include "compression/kernels/kernels.h"

namespace thinwire::compression {

inline constexpr std::size_t kFrameHeaderBytes = 8;
// Blocks are worked on in tiles that the first-level cache holds.
inline constexpr std::size_t kTileBlocks = 8;
inline constexpr std::size_t kTileElements = kTileBlocks * kBlockElements;

// A precondition of encode: count < 2^48.
void write_frame_header(std::byte* wire, CodecId codec, DataType type, std::size_t count);

// Code::peer_lost unless the header is whole and says `codec`, `count` and a type that the lossy
// codecs know, which it then stores in `type`.
Status read_frame_header(const std::byte* wire, std::size_t wire_bytes, CodecId codec,
                         std::size_t count, DataType& type);

constexpr bool is_compressible(DataType type) {
  return type == DataType::float32 || type == DataType::float16 || type == DataType::bfloat16;
}

constexpr std::size_t block_count(std::size_t count) {
  return count / kBlockElements + (count % kBlockElements != 0 ? 1 : 0);
}

Status malformed_frame();

// Reads forward, never past the end.
class FrameReader {
 public:
  FrameReader(const std::byte* begin, const std::byte* end) : at_(begin), end_(end) {}

  // The next `bytes`, or null when so many are not there.
  const std::byte* try_take(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) return nullptr;
    const std::byte* taken = at_;
    at_ += bytes;
    return taken;
  }
  bool at_end() const { return at_ == end_; }

 private:
  const std::byte* at_;
  const std::byte* end_;
};

template <class T>
T read_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
std::byte* write_as(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

}  // namespace thinwire::compression
