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
    std::array<std::uint32_t, kTileBlocks> absmax;
    std::array<float, kTileBlocks> scaling;
    kernels().block_absmax(x, blocks, absmax.data());
    std::uint32_t irregular = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      const Code code = plain_code(x + b * kBlockElements, absmax[b]);
      if (code == Format::kRawCode) irregular |= 1u << b;
      set_code(first / kBlockElements + b, code);
      scaling[b] = code == Format::kRawCode ? 0.0f : Format::scaling(code);
    }
    Format::encode_blocks(x, blocks, scaling.data(), payload_ + first * sizeof(Payload));
    for (; irregular != 0; irregular &= irregular - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(irregular));
      encode_irregular(x + b * kBlockElements, first + b * kBlockElements, kBlockElements);
    }
  }

  void encode_partial(const float* padded, std::size_t first, std::size_t n) {
    std::uint32_t absmax;
    kernels().block_absmax(padded, 1, &absmax);
    const Code code = plain_code(padded, absmax);
    set_code(first / kBlockElements, code);
    if (code == Format::kRawCode) {
      encode_irregular(padded, first, n);
      return;
    }
    encode_run(padded, first, 0, n, code);
  }

  // The code of a block that needs no more than one, all else kRawCode.
  static Code plain_code(const float* x, std::uint32_t absmax_bits) {
    if (absmax_bits >= kInfinityBits) return Format::kRawCode;
    if (absmax_bits > reach(magnitude_bits(x[0]), Format::kRule)) return Format::kRawCode;
    const Code code = Format::code_for(absmax_bits);
    return Format::is_plain(code) && !Format::is_scalar(code) ? code : Format::kRawCode;
  }

  void encode_irregular(const float* x, std::size_t first, std::size_t n) {
    std::uint32_t finite = 0;
    bool all_finite = true;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t bits = magnitude_bits(x[i]);
      if (bits < kInfinityBits) finite = std::max(finite, bits);
      all_finite = all_finite && bits < kInfinityBits;
    }
    Segments segments;
    split(x, n, finite, Format::kRule, segments);
    std::array<Code, kMaxSegments> codes;
    bool serves = all_finite || Format::kKeepsNonFinite;
    for (std::size_t s = 0; s < segments.count; ++s) {
      codes[s] = Format::code_for(segments.absmax_bits[s]);
      serves = serves && Format::is_plain(codes[s]);
    }
    if (serves && (segments.count == 1 || fits(segments.count, n))) {
      encode_segments(x, first, segments, codes.data());
    } else {
      encode_raw(first, n);
    }
  }

  static std::size_t table_bytes(std::size_t segments) {
    return segments + segments * sizeof(Code);
  }
  bool fits(std::size_t segments, std::size_t n) const {
    return table_bytes(segments) <= Format::max_escape_bytes(n, element_bytes(type_));
  }

  void encode_segments(const float* x, std::size_t first, const Segments& segments,
                       const Code* codes) {
    std::size_t begin = 0;
    for (std::size_t s = 0; s < segments.count; ++s) {
      encode_run(x, first, begin, segments.end[s], codes[s]);
      begin = segments.end[s];
    }
    const bool single = segments.count == 1;
    set_code(first / kBlockElements, single ? codes[0] : Format::kSegmentedCode);
    if (single) return;
    escape_ = write_as(escape_, static_cast<std::uint8_t>(segments.count - 1));
    for (std::size_t s = 0; s + 1 < segments.count; ++s) {
      escape_ = write_as(escape_, static_cast<std::uint8_t>(segments.end[s]));
    }
    std::memcpy(escape_, codes, segments.count * sizeof(Code));
    escape_ += segments.count * sizeof(Code);
  }

  void encode_run(const float* x, std::size_t first, std::size_t begin, std::size_t end,
                  Code code) {
    for (std::size_t i = begin; i < end; ++i) {
      write_as(payload_ + (first + i) * sizeof(Payload), Format::encode_one(x[i], code));
    }
  }

  void encode_raw(std::size_t first, std::size_t n) {
    const std::size_t bytes = n * element_bytes(type_), head = n * sizeof(Payload);
    const std::byte* from = elements_ + first * element_bytes(type_);
    std::memcpy(payload_ + first * sizeof(Payload), from, head);
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
  alignas(64) std::array<float, kTileElements> tile_;
};

}  // namespace thinwire::compression
