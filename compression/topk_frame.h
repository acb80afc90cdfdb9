// The blocks of a top-k frame (docs/wire_format.md, "topk"): what follows the frame header. Pure;
// any thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "compression/formats.h"
#include "compression/frame.h"

namespace thinwire::compression {

// Elements that one 16-bit index reaches.
inline constexpr std::size_t kTopkBlock = 65536;
inline constexpr std::size_t kTopkBlockHeaderBytes = 4;

// Where a block's chosen elements are: a list of indices or one bit an element, whichever is
// smaller. In a map there are no values: two bits an element say zero, +Inf, -Inf or NaN.
enum class TopkKind : std::uint8_t { list_fp32, bits_fp32, list_fp16, bits_fp16, map };

constexpr std::size_t value_bytes(TopkValue value) { return value == TopkValue::fp32 ? 4 : 2; }
constexpr std::size_t bitmap_bytes(std::size_t n) { return (n + 7) / 8; }
constexpr std::size_t map_bytes(std::size_t n) { return (n + 3) / 4; }
constexpr std::size_t topk_blocks(std::size_t count) {
  return (count + kTopkBlock - 1) / kTopkBlock;
}

constexpr TopkKind kind_of(TopkValue value, bool bits) {
  if (value == TopkValue::fp32) return bits ? TopkKind::bits_fp32 : TopkKind::list_fp32;
  return bits ? TopkKind::bits_fp16 : TopkKind::list_fp16;
}

// Reads blocks one after another, trusting nothing in them.
class TopkReader {
 public:
  TopkReader(FrameReader reader, TopkValue value) : reader_(reader), value_(value) {}

  // Calls visit(i, element) for the chosen elements of the next block, of n elements, in ascending
  // order. False when the block is malformed; visits before that were in range.
  template <class Visit>
  bool try_block(std::size_t n, const Visit& visit) {
    const std::byte* const head = reader_.try_take(kTopkBlockHeaderBytes);
    if (head == nullptr) return false;
    const auto kind = read_as<TopkKind>(head);
    code_ = read_as<std::uint8_t>(head + 1);
    const std::size_t chosen = read_as<std::uint16_t>(head + 2);
    const bool scaled = kind == TopkKind::list_fp16 || kind == TopkKind::bits_fp16;
    if (scaled ? !Fp16Format::is_plain(code_) : code_ != 0) return false;
    if (kind == kind_of(value_, false)) return try_list(n, chosen, visit);
    if (kind == kind_of(value_, true)) {
      return try_bits(n, chosen == 0 ? kTopkBlock : chosen, visit);
    }
    return kind == TopkKind::map && chosen == 0 && try_map(n, visit);
  }
  bool at_end() const { return reader_.at_end(); }

 private:
  template <class Visit>
  bool try_list(std::size_t n, std::size_t chosen, const Visit& visit) {
    const std::byte* const indices = reader_.try_take(chosen * sizeof(std::uint16_t));
    if (indices == nullptr) return false;
    const std::byte* const values = reader_.try_take(chosen * value_bytes(value_));
    if (values == nullptr) return false;
    std::size_t least = 0;
    for (std::size_t j = 0; j < chosen; ++j) {
      const std::size_t i = read_as<std::uint16_t>(indices + j * sizeof(std::uint16_t));
      if (i < least || i >= n) return false;
      visit(i, value_at(values, j));
      least = i + 1;
    }
    return true;
  }

  template <class Visit>
  bool try_bits(std::size_t n, std::size_t chosen, const Visit& visit) {
    const std::byte* const bits = reader_.try_take(bitmap_bytes(n));
    if (bits == nullptr) return false;
    const std::byte* const values = reader_.try_take(chosen * value_bytes(value_));
    if (values == nullptr) return false;
    std::size_t j = 0;
    for (std::size_t byte = 0; byte < bitmap_bytes(n); ++byte) {
      auto left = static_cast<unsigned>(bits[byte]);
      for (; left != 0; left &= left - 1, ++j) {
        const std::size_t i = byte * 8 + static_cast<std::size_t>(std::countr_zero(left));
        if (i >= n || j == chosen) return false;
        visit(i, value_at(values, j));
      }
    }
    return j == chosen;
  }

  template <class Visit>
  bool try_map(std::size_t n, const Visit& visit) {
    constexpr std::uint32_t kMeaning[] = {0, kInfinityBits, kInfinityBits | 0x80000000u,
                                          kCanonicalNanBits};
    const std::byte* const map = reader_.try_take(map_bytes(n));
    if (map == nullptr) return false;
    for (std::size_t byte = 0; byte < map_bytes(n); ++byte) {
      auto left = static_cast<unsigned>(map[byte]);
      for (std::size_t i = byte * 4; left != 0; left >>= 2, ++i) {
        if ((left & 3u) == 0) continue;
        if (i >= n) return false;
        visit(i, float_of(kMeaning[left & 3u]));
      }
    }
    return true;
  }

  float value_at(const std::byte* values, std::size_t j) const {
    if (value_ == TopkValue::fp32) return read_as<float>(values + j * sizeof(float));
    return Fp16Code::decode(read_as<std::uint16_t>(values + j * 2), Fp16Format::unscaling(code_));
  }

  FrameReader reader_;
  TopkValue value_;
  std::uint8_t code_ = 0;
};

// Reads a whole frame: begin(first, n) before each block of n elements, visit(i, element) for its
// chosen ones, i counting from the frame's beginning.
template <class Begin, class Visit>
Status read_topk_frame(const std::byte* wire, std::size_t wire_bytes, TopkValue value,
                       std::size_t count, const Begin& begin, const Visit& visit) {
  if (count == 0) return wire_bytes == 0 ? Status() : malformed_frame();
  DataType type{};
  const Status status = read_frame_header(wire, wire_bytes, CodecId::topk, count, type);
  if (!status.ok()) return status;
  TopkReader reader(FrameReader(wire + kFrameHeaderBytes, wire + wire_bytes), value);
  for (std::size_t first = 0; first < count; first += kTopkBlock) {
    const std::size_t n = std::min(kTopkBlock, count - first);
    begin(first, n);
    const auto visit_in_frame = [&](std::size_t i, float element) { visit(first + i, element); };
    if (!reader.try_block(n, visit_in_frame)) return malformed_frame();
  }
  return reader.at_end() ? Status() : malformed_frame();
}

}  // namespace thinwire::compression
