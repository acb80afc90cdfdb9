#include "compression/topk_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace thinwire::compression {
namespace {

// Two indices may be written beyond those there are.
constexpr std::size_t kSpareBytes = 4;

// Writes the blocks of one frame.
class TopkWriter {
 public:
  TopkWriter(TopkSource& source, std::size_t count, TopkValue value, std::byte* wire)
      : source_(source), count_(count), value_(value), at_(wire) {}

  std::byte* end() const { return at_; }

  // A precondition: `cut` chooses at most as many elements as a message may hold. `candidates` hold
  // all that it chooses where they are complete.
  void write(const TopkCut& cut, TopkCandidates& candidates) {
    std::size_t ties = cut.ties, next = 0;
    if (candidates.complete()) candidates.keep_above(cut.limit);
    const auto indices = candidates.indices();
    const auto values = candidates.values();
    for (std::size_t first = 0; first < count_; first += kTopkBlock) {
      const std::size_t n = std::min(kTopkBlock, count_ - first);
      if (candidates.complete()) {
        const auto rest = indices.subspan(next);
        const auto here =
            static_cast<std::size_t>(std::ranges::lower_bound(rest, first + n) - rest.begin());
        next += here;
        if (here * sizeof(std::uint16_t) <= bitmap_bytes(n)) {
          write_listed(first, rest.first(here), values.subspan(next - here, here));
          continue;
        }
      }
      write_block(first, n, mark(first, n, cut.limit, ties));
    }
  }

  // Non-finite elements alone, two bits each.
  void write_maps() {
    for (std::size_t first = 0; first < count_; first += kTopkBlock) {
      const std::size_t n = std::min(kTopkBlock, count_ - first);
      write_header(TopkKind::map, 0, 0);
      std::memset(at_, 0, map_bytes(n));
      mark(first, n, kInfinityBits - 1, no_ties_);
      for_each_marked(n, [&](std::size_t i) {
        const float x = source_.at(first + i);
        const unsigned meaning = x != x ? 3 : x > 0 ? 1 : 2;
        at_[i / 4] |= static_cast<std::byte>(meaning << (i % 4 * 2));
      });
      at_ += map_bytes(n);
    }
  }

 private:
  std::size_t valid_of(std::size_t first, std::size_t n) const {
    return first < source_.count() ? std::min(n, source_.count() - first) : 0;
  }

  std::size_t mark(std::size_t first, std::size_t n, std::uint32_t limit, std::size_t& ties) {
    const std::size_t valid = valid_of(first, n);
    std::fill(bitmap_.begin() + valid / 64, bitmap_.begin() + (n + 63) / 64, 0);
    std::size_t marked = source_.mark(first, valid, limit, bitmap_.data());
    if (ties == 0) return marked;
    TopkBitmap at_limit;
    source_.mark(first, valid, limit - 1, at_limit.data());
    for (std::size_t w = 0; w < (valid + 63) / 64; ++w) {
      std::uint64_t left = at_limit[w] & ~bitmap_[w];
      for (; left != 0 && ties != 0; left &= left - 1, --ties, ++marked) {
        bitmap_[w] |= left & (~left + 1);
      }
    }
    return marked;
  }

  template <class Visit>
  void for_each_marked(std::size_t n, const Visit& visit) const {
    for (std::size_t w = 0; w < (n + 63) / 64; ++w) {
      for (std::uint64_t left = bitmap_[w]; left != 0; left &= left - 1) {
        visit(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
      }
    }
  }

  void write_header(TopkKind kind, std::uint8_t code, std::size_t chosen) {
    at_ = write_as(at_, kind);
    at_ = write_as(at_, code);
    at_ = write_as(at_, static_cast<std::uint16_t>(chosen & 0xffffu));
  }

  void write_listed(std::size_t first, std::span<const std::uint32_t> indices,
                    std::span<const float> values) {
    std::byte* const head = at_;
    write_header(kind_of(value_, false), 0, indices.size());
    for (const std::uint32_t i : indices) {
      at_ = write_as(at_, static_cast<std::uint16_t>(i - first));
    }
    write_values(head, [&](const auto& visit) {
      for (std::size_t j = 0; j < indices.size(); ++j) visit(indices[j], values[j]);
    });
  }

  void write_block(std::size_t first, std::size_t n, std::size_t chosen) {
    const bool bits = chosen * sizeof(std::uint16_t) > bitmap_bytes(n);
    std::byte* const head = at_;
    write_header(kind_of(value_, bits), 0, chosen);
    if (bits) {
      std::memcpy(at_, bitmap_.data(), bitmap_bytes(n));
      at_ += bitmap_bytes(n);
    } else {
      kernels().extract(bitmap_.data(), (n + 63) / 64, at_);
      at_ += chosen * sizeof(std::uint16_t);
    }
    write_values(head, [&](const auto& visit) {
      for_each_marked(n, [&](std::size_t i) { visit(first + i, source_.at(first + i)); });
    });
  }

  // Of the block that begins at `head`; for_each calls its argument with each element's place and
  // the element, in order.
  template <class ForEach>
  void write_values(std::byte* head, const ForEach& for_each) {
    if (value_ == TopkValue::fp32) {
      for_each([&](std::size_t i, float x) {
        at_ = write_as(at_, x);
        source_.settle(i, x, x);
      });
      return;
    }
    std::uint32_t largest = 0;
    for_each([&](std::size_t, float x) {
      const std::uint32_t magnitude = magnitude_bits(x);
      if (magnitude < kInfinityBits) largest = std::max(largest, magnitude);
    });
    const std::uint8_t code = Fp16Format::code_for(largest);
    write_as(head + 1, code);
    for_each([&](std::size_t i, float x) {
      const std::uint16_t half =
          Fp16Format::corrected(Fp16Code::encode(x, Fp16Format::scaling(code)), code);
      at_ = write_as(at_, half);
      source_.settle(i, x, Fp16Code::decode(half, Fp16Format::unscaling(code)));
    });
  }

  TopkSource& source_;
  std::size_t count_;
  TopkValue value_;
  std::byte* at_;
  std::size_t no_ties_ = 0;
  TopkBitmap bitmap_;
};

// Zeros with a few elements among them, written once and past the caches: what a whole piece would
// push out of them is worth more.
class StreamedOutput {
 public:
  StreamedOutput(std::byte* out, std::size_t bytes) : at_(out), end_(out + bytes) {
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(out) % kLine;
    start_tile(std::min(bytes, beyond == 0 ? kTileBytes : kLine - beyond));
  }

  template <class T>
  void put(std::size_t byte, T element) {
    while (byte >= before_ + tile_bytes_) next_tile();
    const std::size_t at = byte - before_;
    write_as(tile_.data() + at, element);
    lines_[written_++ % kRemembered] = static_cast<std::uint8_t>(at / kLine);
  }
  void finish() {
    while (at_ != end_) next_tile();
    kernels().flush();
  }

 private:
  static constexpr std::size_t kLine = 64, kTileBytes = 8192, kRemembered = 256;

  void start_tile(std::size_t bytes) {
    tile_bytes_ = bytes;
    // Few lines are not zero.
    const bool remembered = written_ <= kRemembered;
    if (!remembered) tile_.fill(std::byte{0});
    for (std::size_t j = 0; remembered && j < written_; ++j) {
      std::memset(tile_.data() + lines_[j] * kLine, 0, kLine);
    }
    written_ = 0;
  }
  [[gnu::noinline]] void next_tile() {
    const bool lines =
        reinterpret_cast<std::uintptr_t>(at_) % kLine == 0 && tile_bytes_ % kLine == 0;
    if (lines) {
      kernels().stream(tile_.data(), tile_bytes_, at_);
    } else {
      std::memcpy(at_, tile_.data(), tile_bytes_);
    }
    at_ += tile_bytes_;
    before_ += tile_bytes_;
    start_tile(std::min(kTileBytes, static_cast<std::size_t>(end_ - at_)));
  }

  std::byte* at_;
  std::byte* end_;
  std::size_t before_ = 0;  // bytes written
  std::size_t tile_bytes_ = 0;
  std::size_t written_ = kRemembered + 1;  // elements of the tile
  std::array<std::uint8_t, kRemembered> lines_;
  alignas(64) std::array<std::byte, kTileBytes> tile_;
};

// From here on a piece is streamed: shorter ones are likely to be read from the cache.
constexpr std::size_t kStreamedBytes = std::size_t{512} << 10;

}  // namespace

std::size_t TopkCodec::max_encoded_bytes(std::size_t count, DataType) const {
  if (count == 0) return 0;
  const std::size_t most = topk_most(topk_wanted(count, ratio_));
  const std::size_t blocks = topk_blocks(count);
  const std::size_t chosen = most * (sizeof(std::uint16_t) + value_bytes(value_)) + kSpareBytes;
  return kFrameHeaderBytes + blocks * kTopkBlockHeaderBytes + std::max(chosen, count / 4 + blocks);
}

std::size_t TopkCodec::encode(const void* elements, DataType type, std::size_t count,
                              std::byte* wire, const EncodeContext& context) const {
  if (count == 0) return 0;
  write_frame_header(wire, CodecId::topk, type, count);
  const std::size_t valid = std::min(count, context.valid);
  const std::size_t wanted = topk_wanted(valid, ratio_);
  TopkSource source(elements, type, valid, context.residual);
  TopkWriter writer(source, count, value_, wire + kFrameHeaderBytes);
  TopkCandidates candidates;
  auto cut = guessed_cut(source, wanted, context.limit, writer.end(), candidates);
  std::size_t non_finite = 0;
  if (!cut) {
    cut = exact_cut(source, wanted, non_finite);
    candidates.drop();
  }
  if (non_finite > topk_most(wanted)) {
    writer.write_maps();
  } else {
    writer.write(*cut, candidates);
  }
  return static_cast<std::size_t>(writer.end() - wire);
}

Status TopkCodec::decode(const std::byte* wire, std::size_t wire_bytes, DataType type,
                         std::size_t count, void* elements) const {
  auto* const out = static_cast<std::byte*>(elements);
  const std::size_t bytes = element_bytes(type);
  // Calls put(byte, element) with the element in its type.
  const auto converted = [type, bytes](const auto& put) {
    return [type, bytes, &put](std::size_t i, float x) {
      if (type == DataType::float32) return put(i * bytes, x);
      const bool half = type == DataType::float16;
      put(i * bytes, half ? float16_from_float(x) : bfloat16_from_float(x));
    };
  };
  if (count * bytes < kStreamedBytes) {
    const auto put = [out](std::size_t byte, auto element) { write_as(out + byte, element); };
    return read_topk_frame(
        wire, wire_bytes, value_, count,
        [&](std::size_t first, std::size_t n) { std::memset(out + first * bytes, 0, n * bytes); },
        converted(put));
  }
  StreamedOutput output(out, count * bytes);
  const auto put = [&output](std::size_t byte, auto element) { output.put(byte, element); };
  const Status status = read_topk_frame(
      wire, wire_bytes, value_, count, [](std::size_t, std::size_t) {}, converted(put));
  if (status.ok()) output.finish();
  return status;
}

Status TopkCodec::decode_add(const std::byte* wire, std::size_t wire_bytes, std::size_t count,
                             float* accumulator) const {
  return read_topk_frame(
      wire, wire_bytes, value_, count, [](std::size_t, std::size_t) {},
      [&](std::size_t i, float x) {
        const float sum = accumulator[i] + x;
        accumulator[i] = sum == sum ? sum : float_of(kCanonicalNanBits);
      });
}

}  // namespace thinwire::compression
