// Encoding half of BlockCodec: one frame, tile by tile. Included by block_codec.cc only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "compression/block_patches.h"
#include "compression/encode_input.h"
#include "compression/formats.h"
#include "compression/reduce.h"

namespace thinwire::compression {

template <class Format>
class FrameEncoder {
 public:
  using Code = typename Format::Code;
  using Element = typename Format::Element;
  using Packed = Packing<Element::kBits>;

  // `noise` is null for rounding to nearest.
  FrameEncoder(EncodeInput& input, const std::uint64_t* noise, std::byte* wire)
      : input_(input), noise_(noise), frame_(wire, input.type(), input.count()) {}

  // Encodes the tile that begins at `first`; tiles come in order. Returns the frame's end so far.
  std::byte* encode_tile(std::size_t first) {
    const std::size_t n = std::min(kTileElements, input_.count() - first);
    const float* const x = input_.floats(first, n);
    if (noise_ != nullptr) key_ = noise_key(*noise_, first / kTileElements);
    const std::size_t whole = input_.valid_of(first, n) / kBlockElements * kBlockElements;
    encode_whole(x, first, whole / kBlockElements);
    for (std::size_t i = whole; i < n; i += kBlockElements) {
      encode_alone(x + i, first + i, std::min(kBlockElements, n - i));
    }
    return frame_.end();
  }

 private:
  static constexpr std::size_t kBlockBytes = Packed::bytes(kBlockElements);

  // Blocks of which every element is valid.
  void encode_whole(const float* x, std::size_t first, std::size_t blocks) {
    survey(x, blocks);
    std::uint32_t irregular = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      if (try_plain(b, first)) continue;
      irregular |= 1u << b;
      encode_irregular(b, first + b * kBlockElements, x + b * kBlockElements, kBlockElements);
    }
    float* const residual = input_.residual(first);
    run_kernel(x, first, blocks, frame_.payload(first), residual);
    for (; irregular != 0; irregular &= irregular - 1) {
      const auto b = static_cast<std::size_t>(std::countr_zero(irregular));
      patches_.apply(b, kBlockElements, frame_.payload(first + b * kBlockElements));
      if (residual != nullptr) patches_.apply_lost(b, residual + b * kBlockElements);
    }
  }

  // One block that is not whole or not wholly valid.
  void encode_alone(const float* x, std::size_t first, std::size_t n) {
    alignas(64) std::array<float, kBlockElements> padded, lost;
    alignas(64) std::array<std::byte, kBlockBytes> payload;
    std::copy_n(x, n, padded.begin());
    std::fill(padded.begin() + n, padded.end(), 0.0f);
    float* const residual = input_.residual(first);
    survey(padded.data(), 1);
    patches_.set_count(0, 0);
    if (!try_plain(0, first)) encode_irregular(0, first, padded.data(), n);
    run_kernel(padded.data(), first, 1, payload.data(),
               residual == nullptr ? nullptr : lost.data());
    std::byte* const to = frame_.payload(first);
    pack<Element>(payload.data(), n, to);
    patches_.apply(0, n, to);
    if (residual == nullptr) return;
    patches_.apply_lost(0, lost.data());
    std::copy_n(lost.begin(), input_.valid_of(first, n), residual);
  }

  void survey(const float* x, std::size_t blocks) {
    if constexpr (Format::kCodeBytes != 0) {
      kernels().survey(x, blocks, Format::kRule, absmax_.data(), limit_.data());
    } else if (input_.residual(0) != nullptr) {
      constexpr SegmentRule kAny{0, 0, 0};
      kernels().survey(x, blocks, kAny, absmax_.data(), limit_.data());
    }
  }

  // Whether one scale serves the tile's block b.
  bool try_plain(std::size_t b, std::size_t first) {
    if constexpr (Format::kCodeBytes == 0) {
      return input_.residual(0) == nullptr || absmax_[b] < kInfinityBits;
    } else {
      const std::uint32_t absmax_bits = absmax_[b];
      if (absmax_bits > std::min(limit_[b], Format::kLargestPlain)) return false;
      const Code code = Format::code_for(absmax_bits);
      if (!Format::is_plain(code)) return false;
      set_scale(b, code);
      frame_.set_code(first / kBlockElements + b, code);
      return true;
    }
  }

  void set_scale(std::size_t b, Code code) {
    scaling_[b] = Format::scaling(code);
    unscaling_[b] = Format::unscaling(code);
  }

  void run_kernel(const float* x, std::size_t first, std::size_t blocks, void* payload,
                  float* residual) {
    kernels().block[Format::kKernels].encode(
        {x, blocks, scaling_.data(), unscaling_.data(), payload, residual,
         noise_ == nullptr ? nullptr : &key_, static_cast<std::uint32_t>(first % kTileElements)});
  }

  // Encodes block b, for which one kernel with one scale does not do: sets its code and escape, and
  // the scale for the kernel; the first elements, which the kernel does not serve, go to patches_.
  void encode_irregular(std::size_t b, std::size_t first, const float* x, std::size_t n) {
    const bool finite = absmax_[b] < kInfinityBits;
    const bool alone = !finite && input_.residual(first) != nullptr;
    alignas(64) std::array<float, kBlockElements> elements;
    if (alone) {
      input_.load_alone(first, n, elements.data());
      x = elements.data();
    }
    if constexpr (Format::kCodeBytes == 0) {
      encode_by_hand(b, first, x, 0, n, n, Code{});
    } else {
      encode_scaled(b, first, x, n, finite);
    }
    // The residual stays as it is.
    if (alone) std::copy_n(input_.residual(first), input_.valid_of(first, n), patches_.lost(b));
  }

  void encode_scaled(std::size_t b, std::size_t first, const float* x, std::size_t n, bool finite) {
    bool serves = finite || Format::kKeepsNonFinite;
    Segments segments;
    std::array<Code, kMaxSegments> codes;
    if (serves) split(x, n, finite ? absmax_[b] : finite_absmax(x, 0, n), Format::kRule, segments);
    for (std::size_t s = 0; s < segments.count; ++s) {
      codes[s] = Format::code_for(segments.absmax_bits[s]);
      serves = serves && Format::is_plain(codes[s]);
    }
    if (!serves || (segments.count > 1 && !fits(segments.count, n))) {
      scaling_[b] = unscaling_[b] = 0.0f;
      return write_raw(b, first, x, n, finite);
    }
    const std::size_t last = segments.count - 1;
    set_scale(b, codes[last]);
    frame_.write_segments(first / kBlockElements, segments, codes.data());
    // The kernel serves the last one, unless the format or the residual says otherwise.
    const bool all = Format::is_scalar(codes[last]) || (!finite && input_.residual(0) != nullptr);
    std::size_t begin = 0;
    patches_.set_count(b, 0);
    for (std::size_t s = 0; s < last + (all ? 1 : 0); ++s) {
      encode_by_hand(b, first, x, begin, segments.end[s], n, codes[s]);
      begin = segments.end[s];
    }
  }

  bool fits(std::size_t segments, std::size_t n) const {
    return segments + segments * Format::kCodeBytes <=
           Format::max_escape_bytes(n, element_bytes(input_.type()));
  }

  // Elements [begin, end) of block b, with one code.
  void encode_by_hand(std::size_t b, std::size_t first, const float* x, std::size_t begin,
                      std::size_t end, std::size_t n, Code code) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::uint32_t>((first + i) % kTileElements);
      const std::uint32_t noise = noise_of(key_, index);
      patches_.encode(b, i, n, x[i], code, noise_ == nullptr ? nullptr : &noise);
    }
    patches_.set_count(b, end);
  }

  void write_raw(std::size_t b, std::size_t first, const float* x, std::size_t n, bool finite) {
    const std::size_t bytes = n * element_bytes(input_.type()), head = Packed::bytes(n);
    alignas(64) std::array<std::byte, kBlockElements * sizeof(float)> raw;
    input_.write_raw(first, n, finite ? x : nullptr, raw.data(), patches_.lost(b));
    std::memcpy(patches_.payload(b), raw.data(), head);
    frame_.write_escape(raw.data() + head, bytes - head);
    patches_.set_count(b, n);
    frame_.set_code(first / kBlockElements, Format::kRawCode);
  }

  EncodeInput& input_;
  const std::uint64_t* noise_;
  NoiseKey key_{};
  FrameWriter<Format> frame_;
  // Of the tile at work.
  std::array<std::uint32_t, kTileBlocks> absmax_;
  std::array<std::uint32_t, kTileBlocks> limit_;
  std::array<float, kTileBlocks> scaling_;
  std::array<float, kTileBlocks> unscaling_;
  Patches<Format> patches_;
};

}  // namespace thinwire::compression
