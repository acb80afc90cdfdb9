// Encoding half of BlockCodec: one frame, tile by tile. Included by block_codec.cc only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "compression/float_bits.h"
#include "compression/frame.h"
#include "compression/reduce.h"
#include "compression/segments.h"

namespace thinwire::compression {

template <class Format>
class FrameEncoder {
 public:
  using Code = typename Format::Code;
  using Payload = typename Format::Payload;

  FrameEncoder(const void* elements, DataType type, std::size_t count, std::byte* wire)
      : elements_(static_cast<const std::byte*>(elements)),
        type_(type),
        count_(count),
        codes_(wire + kFrameHeaderBytes),
        payload_(codes_ + block_count(count) * sizeof(Code)),
        escape_(payload_ + count * sizeof(Payload)) {
    write_frame_header(wire, Format::kId, type, count);
  }

  // Returns the frame's end.
  std::byte* run() {
    for (std::size_t first = 0; first < count_; first += kTileElements) {
      encode_tile(first, std::min(kTileElements, count_ - first));
    }
    return escape_;
  }

 private:
  void encode_tile(std::size_t first, std::size_t n) {
    const std::size_t full = n / kBlockElements, rest = n % kBlockElements;
    const float* x = as_floats(first, n);
    encode_blocks(x, first, full);
    if (rest == 0) return;
    alignas(64) std::array<float, kBlockElements> padded{};
    std::memcpy(padded.data(), x + full * kBlockElements, rest * sizeof(float));
    encode_partial(padded.data(), first + full * kBlockElements, rest);
  }

  const float* as_floats(std::size_t first, std::size_t n) {
    const std::byte* from = elements_ + first * element_bytes(type_);
    if (type_ == DataType::float32) return reinterpret_cast<const float*>(from);
    load(type_, from, tile_.data(), n);
    return tile_.data();
  }

  void encode_blocks(const float* x, std::size_t first, std::size_t blocks) {
    std::uint32_t irregular = 0;
    kernels().survey(x, blocks, Format::kRule, absmax_.data(), limit_.data());
    for (std::size_t b = 0; b < blocks; ++b) {
      const float* const block = x + b * kBlockElements;
      if (try_plain(b, first)) continue;
      irregular |= 1u << b;
      patched_[b] = encode_irregular(b, first + b * kBlockElements, block, kBlockElements);
    }
    std::byte* const payload = payload_ + first * sizeof(Payload);
    Format::encode_blocks(x, blocks, scaling_.data(), payload);
    for (; irregular != 0; irregular &= irregular - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(irregular));
      const std::size_t at = b * kBlockElements * sizeof(Payload);
      std::memcpy(payload + at, patch_.data() + at, patched_[b] * sizeof(Payload));
    }
  }

  void encode_partial(const float* padded, std::size_t first, std::size_t n) {
    std::array<std::byte, kBlockElements * sizeof(Payload)> payload;
    kernels().survey(padded, 1, Format::kRule, absmax_.data(), limit_.data());
    const bool plain = try_plain(0, first);
    const std::size_t patched = plain ? 0 : encode_irregular(0, first, padded, n);
    Format::encode_blocks(padded, 1, scaling_.data(), payload.data());
    std::memcpy(payload.data(), patch_.data(), patched * sizeof(Payload));
    std::memcpy(payload_ + first * sizeof(Payload), payload.data(), n * sizeof(Payload));
  }

  // Whether one scale serves the tile's block b.
  bool try_plain(std::size_t b, std::size_t first) {
    const std::uint32_t absmax_bits = absmax_[b];
    if (absmax_bits > std::min(limit_[b], Format::kLargestPlain)) return false;
    const Code code = Format::code_for(absmax_bits);
    if (!Format::is_plain(code)) return false;
    scaling_[b] = Format::scaling(code);
    set_code(first / kBlockElements + b, code);
    return true;
  }

  // Sets the code, the escape and the scale for the kernel, and returns how many elements from the
  // block's beginning the kernel's payloads do not serve: theirs are in patch_.
  std::size_t encode_irregular(std::size_t b, std::size_t first, const float* x, std::size_t n) {
    const bool finite = absmax_[b] < kInfinityBits;
    bool serves = finite || Format::kKeepsNonFinite;
    Segments segments;
    std::array<Code, kMaxSegments> codes;
    if (serves) split(x, n, finite ? absmax_[b] : finite_absmax(x, 0, n), Format::kRule, segments);
    for (std::size_t s = 0; s < segments.count; ++s) {
      codes[s] = Format::code_for(segments.absmax_bits[s]);
      serves = serves && Format::is_plain(codes[s]);
    }
    std::byte* const patch = patch_.data() + b * kBlockElements * sizeof(Payload);
    if (serves && (segments.count == 1 || fits(segments.count, n))) {
      scaling_[b] = Format::scaling(codes[segments.count - 1]);
      write_segments(first / kBlockElements, segments, codes.data());
      return encode_segments(x, segments, codes.data(), patch);
    }
    scaling_[b] = 0.0f;
    write_raw(first, n, patch);
    return n;
  }

  bool fits(std::size_t segments, std::size_t n) const {
    return segments + segments * sizeof(Code) <= Format::max_escape_bytes(n, element_bytes(type_));
  }

  void write_segments(std::size_t block, const Segments& segments, const Code* codes) {
    const bool single = segments.count == 1;
    set_code(block, single ? codes[0] : Format::kSegmentedCode);
    if (single) return;
    escape_ = write_as(escape_, static_cast<std::uint8_t>(segments.count - 1));
    for (std::size_t s = 0; s + 1 < segments.count; ++s) {
      escape_ = write_as(escape_, static_cast<std::uint8_t>(segments.end[s]));
    }
    std::memcpy(escape_, codes, segments.count * sizeof(Code));
    escape_ += segments.count * sizeof(Code);
  }

  // All segments but the last, which the kernel serves unless the format says otherwise.
  static std::size_t encode_segments(const float* x, const Segments& segments, const Code* codes,
                                     std::byte* patch) {
    const std::size_t last = segments.count - 1;
    const std::size_t by_hand = Format::is_scalar(codes[last]) ? segments.count : last;
    std::size_t i = 0;
    for (std::size_t s = 0; s < by_hand; ++s) {
      const float scaling = Format::scaling(codes[s]);
      for (; i < segments.end[s]; ++i) {
        write_as(patch + i * sizeof(Payload), Format::encode_one(x[i], scaling));
      }
    }
    return i;
  }

  void write_raw(std::size_t first, std::size_t n, std::byte* patch) {
    const std::size_t bytes = n * element_bytes(type_), head = n * sizeof(Payload);
    const std::byte* from = elements_ + first * element_bytes(type_);
    std::memcpy(patch, from, head);
    std::memcpy(escape_, from + head, bytes - head);
    escape_ += bytes - head;
    set_code(first / kBlockElements, Format::kRawCode);
  }

  void set_code(std::size_t block, Code code) { write_as(codes_ + block * sizeof(Code), code); }

  const std::byte* elements_;
  DataType type_;
  std::size_t count_;
  std::byte* codes_;
  std::byte* payload_;
  std::byte* escape_;
  // Of the tile at work.
  std::array<std::uint32_t, kTileBlocks> absmax_;
  std::array<std::uint32_t, kTileBlocks> limit_;
  std::array<float, kTileBlocks> scaling_;
  std::array<std::size_t, kTileBlocks> patched_;
  alignas(64) std::array<std::byte, kTileElements * sizeof(Payload)> patch_;
  alignas(64) std::array<float, kTileElements> tile_;
};

}  // namespace thinwire::compression
