// FrameWriter: the parts of a frame being encoded. Patches: the elements of a tile that its kernel,
// with one scale a block, does not serve. Included by block_encode.h only.
#pragma once

#include <algorithm>
#include <array>

#include "compression/formats.h"

namespace thinwire::compression {

template <class Format>
class FrameWriter {
 public:
  using Code = typename Format::Code;

  FrameWriter(std::byte* wire, DataType type, std::size_t count)
      : codes_(wire + kFrameHeaderBytes),
        payload_(codes_ + block_count(count) * Format::kCodeBytes),
        escape_(payload_ + payload_bytes<Format>(count)) {
    write_frame_header(wire, Format::kId, type, count);
  }

  // Of the block that begins with element `first`.
  std::byte* payload(std::size_t first) { return payload_ + payload_bytes<Format>(first); }
  void set_code(std::size_t block, Code code) { write_as(codes_ + block * sizeof(Code), code); }

  // The code, and where there are several segments their escape.
  void write_segments(std::size_t block, const Segments& segments, const Code* codes) {
    const bool single = segments.count == 1;
    set_code(block, single ? codes[0] : Format::kSegmentedCode);
    if (single) return;
    escape_ = write_as(escape_, static_cast<std::uint8_t>(segments.count - 1));
    for (std::size_t s = 0; s + 1 < segments.count; ++s) {
      escape_ = write_as(escape_, static_cast<std::uint8_t>(segments.end[s]));
    }
    write_escape(codes, segments.count * sizeof(Code));
  }
  void write_escape(const void* bytes, std::size_t count) {
    std::memcpy(escape_, bytes, count);
    escape_ += count;
  }
  std::byte* end() const { return escape_; }

 private:
  std::byte* codes_;
  std::byte* payload_;
  std::byte* escape_;
};

// Of each block b of a tile the first count(b) elements: their payloads, and what they lose.
template <class Format>
class Patches {
 public:
  using Element = typename Format::Element;
  using Payload = typename Element::Payload;
  using Packed = Packing<Element::kBits>;
  static constexpr std::size_t kBlockBytes = Packed::bytes(kBlockElements);

  void set_count(std::size_t b, std::size_t count) { count_[b] = count; }
  std::byte* payload(std::size_t b) { return payload_.data() + b * kBlockBytes; }
  float* lost(std::size_t b) { return lost_.data() + b * kBlockElements; }

  // Element i of block b, which has n elements; noise is null for rounding to nearest.
  void encode(std::size_t b, std::size_t i, std::size_t n, float x, typename Format::Code code,
              const std::uint32_t* noise) {
    float scaling = 1.0f, unscaling = 1.0f;
    if constexpr (Format::kCodeBytes != 0) {
      scaling = Format::scaling(code);
      unscaling = Format::unscaling(code);
    }
    Payload encoded =
        noise == nullptr ? Element::encode(x, scaling) : Element::encode(x, scaling, *noise);
    if constexpr (Format::kCodeBytes != 0) encoded = Format::corrected(encoded, code);
    Packed::put(payload(b), i, n, encoded);
    lost(b)[i] = x - Element::decode(encoded, unscaling);
  }

  // Puts the payloads of block b, which has n elements, over those at `to`.
  void apply(std::size_t b, std::size_t n, std::byte* to) {
    if (count_[b] == n || Element::kBits != 4) {
      std::memcpy(to, payload(b), Packed::bytes(count_[b]));
      return;
    }
    for (std::size_t i = 0; i < count_[b]; ++i) {
      Packed::put(to, i, n, Packed::template get<Payload>(payload(b), i, n));
    }
  }
  // Same for what they lose.
  void apply_lost(std::size_t b, float* residual) { std::copy_n(lost(b), count_[b], residual); }

 private:
  std::array<std::size_t, kTileBlocks> count_;
  alignas(64) std::array<std::byte, kTileBlocks * kBlockBytes> payload_;
  alignas(64) std::array<float, kTileElements> lost_;
};

}  // namespace thinwire::compression
