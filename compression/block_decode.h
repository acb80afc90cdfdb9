// Decoding half of BlockCodec: one frame, tile by tile, trusting nothing in it. Included by
// block_codec.cc only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "compression/float_bits.h"
#include "compression/formats.h"
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
  using Element = typename Format::Element;
  using Payload = typename Element::Payload;
  using Packed = Packing<Element::kBits>;

  FrameDecoder(const DecodeTarget& target, std::size_t count) : target_(target), count_(count) {}

  // Reads the header and finds the frame's parts: once, before the tiles.
  Status start(const std::byte* wire, std::size_t wire_bytes) {
    const Status status = read_frame_header(wire, wire_bytes, Format::kId, count_, wire_type_);
    if (!status.ok()) return status;
    reader_ = FrameReader(wire + kFrameHeaderBytes, wire + wire_bytes);
    codes_ = reader_.try_take(block_count(count_) * Format::kCodeBytes);
    if (codes_ == nullptr) return malformed_frame();
    payload_ = reader_.try_take(payload_bytes<Format>(count_));
    return payload_ == nullptr ? malformed_frame() : Status();
  }

  // Decodes the tile that begins at `first`; tiles come in order.
  bool try_decode_tile(std::size_t first) {
    const std::size_t n = std::min(kTileElements, count_ - first);
    const bool direct = target_.type == DataType::float32 && n % kBlockElements == 0;
    std::byte* const elements = target_.elements + first * element_bytes(target_.type);
    float* const out = direct ? reinterpret_cast<float*>(elements) : tile_.data();
    if (!direct && target_.add) std::memcpy(out, elements, n * sizeof(float));
    if constexpr (Format::kCodeBytes != 0) {
      if (!try_parse_tile(first, n, out)) return false;
    }
    decode_blocks(first, n, out);
    for (; irregular_ != 0; irregular_ &= irregular_ - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(irregular_));
      std::copy_n(patch_.data() + b * kBlockElements, patched_[b], out + b * kBlockElements);
    }
    if (!direct) store(target_.type, out, elements, n);
    return true;
  }

  bool at_end() const { return reader_.at_end(); }

 private:
  static constexpr std::size_t kBlockBytes = Packed::bytes(kBlockElements);

  const std::byte* payload_of(std::size_t first) const {
    return payload_ + first / kBlockElements * kBlockBytes;
  }

  void decode_blocks(std::size_t first, std::size_t n, float* out) {
    const std::size_t full = n / kBlockElements, rest = n % kBlockElements;
    const std::byte* const from = payload_of(first);
    run_kernel(from, full, unscaling_.data(), out);
    if (rest == 0) return;
    std::array<std::byte, kBlockBytes> padded{};
    unpack<Element>(from + full * kBlockBytes, rest, padded.data());
    float* const last = out + full * kBlockElements;
    std::fill(last + rest, last + kBlockElements, 0.0f);
    run_kernel(padded.data(), 1, unscaling_.data() + full, last);
  }

  void run_kernel(const std::byte* from, std::size_t blocks, const float* unscaling, float* out) {
    const BlockKernels& kernel = kernels().block[Format::kKernels];
    (target_.add ? kernel.decode_add : kernel.decode)(from, blocks, unscaling, out);
  }

  // Fills unscaling_ and, for the elements that have another scale or none, patch_.
  bool try_parse_tile(std::size_t first, std::size_t n, const float* out) {
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
      if (code == Format::kSegmentedCode) fine = try_segments(b, at, in_block);
      if (Format::kHasRaw && code == Format::kRawCode) fine = try_raw(b, at, in_block);
      if (!fine) return false;
      if (target_.add) add_to_patch(b, out + b * kBlockElements);
    }
    return true;
  }

  bool try_segments(std::size_t b, std::size_t at, std::size_t n) {
    const std::byte* head = reader_.try_take(1);
    if (head == nullptr) return false;
    const auto extra = read_as<std::uint8_t>(head);
    const std::byte* ends = reader_.try_take(extra);
    if (ends == nullptr || extra == 0) return false;
    const std::byte* codes = reader_.try_take((extra + std::size_t{1}) * sizeof(Code));
    if (codes == nullptr) return false;
    std::size_t begin = 0;
    for (std::size_t s = 0; s < extra; ++s) {
      const auto end = read_as<std::uint8_t>(ends + s);
      const auto code = read_as<Code>(codes + s * sizeof(Code));
      if (end <= begin || end >= n || !Format::is_plain(code)) return false;
      const float unscaling = Format::unscaling(code);
      for (; begin < end; ++begin) {
        const auto payload = Packed::template get<Payload>(payload_of(at), begin, n);
        patch_[b * kBlockElements + begin] = Element::decode(payload, unscaling);
      }
    }
    const auto last = read_as<Code>(codes + extra * sizeof(Code));
    if (!Format::is_plain(last)) return false;
    patched_[b] = begin;
    unscaling_[b] = Format::unscaling(last);
    return true;
  }

  bool try_raw(std::size_t b, std::size_t at, std::size_t n) {
    const std::size_t bytes = n * element_bytes(wire_type_), head = Packed::bytes(n);
    const std::byte* rest = reader_.try_take(bytes - head);
    if (rest == nullptr) return false;
    alignas(8) std::array<std::byte, kBlockElements * sizeof(float)> raw;
    std::memcpy(raw.data(), payload_of(at), head);
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
  std::size_t count_;
  DataType wire_type_{};
  FrameReader reader_{nullptr, nullptr};
  const std::byte* codes_ = nullptr;
  const std::byte* payload_ = nullptr;
  std::array<float, kTileBlocks> unscaling_;
  std::uint32_t irregular_ = 0;  // blocks of the tile whose first patched_ are in patch_
  std::array<std::size_t, kTileBlocks> patched_;
  alignas(64) std::array<float, kTileElements> patch_;
  alignas(64) std::array<float, kTileElements> tile_;
};

}  // namespace thinwire::compression
