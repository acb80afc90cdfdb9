// Decoding half of BlockCodec: one frame, tile by tile, trusting nothing in it. Included by
// block_codec.cc only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "compression/float_bits.h"
#include "compression/frame.h"
#include "compression/reduce.h"
#include "compression/segments.h"

namespace thinwire::compression {

// Where decoded elements go: stored as `type`, or added to floats.
struct DecodeTarget {
  std::byte* elements;
  DataType type;
  bool add;
};

template <class Format>
class FrameDecoder {
 public:
  using Code = typename Format::Code;
  using Payload = typename Format::Payload;

  FrameDecoder(const DecodeTarget& target, DataType wire_type, std::size_t count)
      : target_(target), wire_type_(wire_type), count_(count) {}

  // `reader` stands behind the frame header.
  Status run(FrameReader reader) {
    codes_ = reader.try_take(block_count(count_) * sizeof(Code));
    if (codes_ == nullptr) return malformed_frame();
    payload_ = reader.try_take(count_ * sizeof(Payload));
    if (payload_ == nullptr) return malformed_frame();
    for (std::size_t first = 0; first < count_; first += kTileElements) {
      if (!try_decode_tile(first, std::min(kTileElements, count_ - first), reader)) {
        return malformed_frame();
      }
    }
    return reader.at_end() ? Status() : malformed_frame();
  }

 private:
  bool try_decode_tile(std::size_t first, std::size_t n, FrameReader& reader) {
    const bool direct = target_.type == DataType::float32 && n % kBlockElements == 0;
    std::byte* const elements = target_.elements + first * element_bytes(target_.type);
    float* const out = direct ? reinterpret_cast<float*>(elements) : tile_.data();
    if (!direct && target_.add) std::memcpy(out, elements, n * sizeof(float));
    if (!try_parse_tile(first, n, out, reader)) return false;
    decode_blocks(first, n, out);
    for (; irregular_ != 0; irregular_ &= irregular_ - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(irregular_));
      std::copy_n(patch_.data() + b * kBlockElements, patched_[b], out + b * kBlockElements);
    }
    if (!direct) store(target_.type, out, elements, n);
    return true;
  }

  void decode_blocks(std::size_t first, std::size_t n, float* out) {
    const std::size_t full = n / kBlockElements, rest = n % kBlockElements;
    const std::byte* from = payload_ + first * sizeof(Payload);
    run_kernel(from, full, unscaling_.data(), out);
    if (rest == 0) return;
    std::array<std::byte, kBlockElements * sizeof(Payload)> padded{};
    std::memcpy(padded.data(), from + full * sizeof(padded), rest * sizeof(Payload));
    float* const last = out + full * kBlockElements;
    std::fill(last + rest, last + kBlockElements, 0.0f);
    run_kernel(padded.data(), 1, unscaling_.data() + full, last);
  }

  void run_kernel(const std::byte* from, std::size_t blocks, const float* unscaling, float* out) {
    if (target_.add) {
      Format::decode_add_blocks(from, blocks, unscaling, out);
    } else {
      Format::decode_blocks(from, blocks, unscaling, out);
    }
  }

  // Fills unscaling_ and, for the elements that have another scale or none, patch_.
  bool try_parse_tile(std::size_t first, std::size_t n, const float* out, FrameReader& reader) {
    for (std::size_t b = 0; b * kBlockElements < n; ++b) {
      const std::size_t at = first + b * kBlockElements;
      const auto code = read_as<Code>(codes_ + at / kBlockElements * sizeof(Code));
      if (Format::is_plain(code)) {
        unscaling_[b] = Format::unscaling(code);
        continue;
      }
      irregular_ |= 1u << b;
      unscaling_[b] = 0.0f;
      const std::size_t in_block = std::min(kBlockElements, n - b * kBlockElements);
      bool fine = false;
      if (code == Format::kSegmentedCode) fine = try_segments(b, at, in_block, reader);
      if (Format::kHasRaw && code == Format::kRawCode) fine = try_raw(b, at, in_block, reader);
      if (!fine) return false;
      if (target_.add) add_to_patch(b, out + b * kBlockElements);
    }
    return true;
  }

  bool try_segments(std::size_t b, std::size_t at, std::size_t n, FrameReader& reader) {
    const std::byte* head = reader.try_take(1);
    if (head == nullptr) return false;
    const auto extra = read_as<std::uint8_t>(head);
    const std::byte* ends = reader.try_take(extra);
    if (ends == nullptr || extra == 0) return false;
    const std::byte* codes = reader.try_take((extra + std::size_t{1}) * sizeof(Code));
    if (codes == nullptr) return false;
    std::size_t begin = 0;
    for (std::size_t s = 0; s < extra; ++s) {
      const auto end = read_as<std::uint8_t>(ends + s);
      const auto code = read_as<Code>(codes + s * sizeof(Code));
      if (end <= begin || end >= n || !Format::is_plain(code)) return false;
      const float unscaling = Format::unscaling(code);
      for (; begin < end; ++begin) {
        const auto payload = read_as<Payload>(payload_ + (at + begin) * sizeof(Payload));
        patch_[b * kBlockElements + begin] = Format::decode_one(payload, unscaling);
      }
    }
    const auto last = read_as<Code>(codes + extra * sizeof(Code));
    if (!Format::is_plain(last)) return false;
    patched_[b] = begin;
    unscaling_[b] = Format::unscaling(last);
    return true;
  }

  bool try_raw(std::size_t b, std::size_t at, std::size_t n, FrameReader& reader) {
    const std::size_t bytes = n * element_bytes(wire_type_), head = n * sizeof(Payload);
    const std::byte* rest = reader.try_take(bytes - head);
    if (rest == nullptr) return false;
    alignas(8) std::array<std::byte, kBlockElements * sizeof(float)> raw;
    std::memcpy(raw.data(), payload_ + at * sizeof(Payload), head);
    std::memcpy(raw.data() + head, rest, bytes - head);
    load(wire_type_, raw.data(), patch_.data() + b * kBlockElements, n);
    patched_[b] = n;
    return true;
  }

  void add_to_patch(std::size_t b, const float* accumulator) {
    float* const patch = patch_.data() + b * kBlockElements;
    for (std::size_t i = 0; i < patched_[b]; ++i) {
      const float sum = accumulator[i] + patch[i];
      patch[i] = sum == sum ? sum : float_of(kCanonicalNanBits);
    }
  }

  DecodeTarget target_;
  DataType wire_type_;
  std::size_t count_;
  const std::byte* codes_ = nullptr;
  const std::byte* payload_ = nullptr;
  std::array<float, kTileBlocks> unscaling_;
  std::uint32_t irregular_ = 0;  // blocks of the tile whose first patched_ are in patch_
  std::array<std::size_t, kTileBlocks> patched_;
  alignas(64) std::array<float, kTileElements> patch_;
  alignas(64) std::array<float, kTileElements> tile_;
};

}  // namespace thinwire::compression
