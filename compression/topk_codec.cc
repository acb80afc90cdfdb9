#include "compression/topk_codec.h"

#include <cmath>
#include <cstring>

namespace thinwire::compression {
namespace {

// Two indices may be written beyond those there are.
constexpr std::size_t kSpareBytes = 4;

// Writes the blocks of one frame.
class TopkWriter {
 public:
  TopkWriter(TopkSource& source, std::size_t count, TopkValue value, std::byte* wire)
      : source_(source), count_(count), value_(value), begin_(wire), at_(wire) {}

  std::byte* end() const { return at_; }
  // How many elements the last cut chose, written or not.
  std::size_t marked() const { return marked_; }

  // Whether `cut` chooses at most `most` elements. If not, the frame is incomplete; what it holds
  // is settled.
  bool try_write(const TopkCut& cut, std::size_t most) {
    std::size_t ties = cut.ties;
    bool fits = true;
    for (std::size_t first = 0; first < count_; first += kTopkBlock) {
      const std::size_t n = std::min(kTopkBlock, count_ - first);
      const std::size_t chosen = mark(first, n, cut.limit, ties);
      marked_ += chosen;
      fits = fits && marked_ <= most;
      if (fits) write_block(first, n, chosen);
      written_ = fits ? first + n : written_;
    }
    return fits;
  }

  // Takes back what was settled, and starts again.
  void rewind() {
    TopkReader reader(FrameReader(begin_, at_), value_);
    for (std::size_t first = 0; first < written_; first += kTopkBlock) {
      const bool fine =
          reader.try_block(std::min(kTopkBlock, count_ - first),
                           [&](std::size_t i, float sent) { source_.unsettle(first + i, sent); });
      if (!fine) break;
    }
    at_ = begin_;
    marked_ = written_ = 0;
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

  void write_block(std::size_t first, std::size_t n, std::size_t chosen) {
    const bool bits = chosen * sizeof(std::uint16_t) > bitmap_bytes(n);
    std::byte* const head = at_;
    write_header(kind_of(value_, bits), 0, chosen);
    const std::byte* const indices = at_;
    if (bits) {
      std::memcpy(at_, bitmap_.data(), bitmap_bytes(n));
      at_ += bitmap_bytes(n);
    } else {
      kernels().extract(bitmap_.data(), (n + 63) / 64, at_);
      at_ += chosen * sizeof(std::uint16_t);
    }
    const auto for_each = [&](const auto& visit) {
      if (bits) return for_each_marked(n, visit);
      for (std::size_t j = 0; j < chosen; ++j) visit(read_as<std::uint16_t>(indices + 2 * j));
    };
    if (value_ == TopkValue::fp32) {
      for_each([&](std::size_t i) { write_fp32(first + i); });
    } else {
      std::uint32_t largest = 0;
      for_each([&](std::size_t i) {
        const std::uint32_t magnitude = magnitude_bits(source_.at(first + i));
        if (magnitude < kInfinityBits) largest = std::max(largest, magnitude);
      });
      const std::uint8_t code = Fp16Format::code_for(largest);
      write_as(head + 1, code);
      for_each([&](std::size_t i) { write_fp16(first + i, code); });
    }
  }

  void write_fp32(std::size_t i) {
    const float x = source_.at(i);
    at_ = write_as(at_, x);
    source_.settle(i, x);
  }

  void write_fp16(std::size_t i, std::uint8_t code) {
    const std::uint16_t half =
        Fp16Format::corrected(Fp16Code::encode(source_.at(i), Fp16Format::scaling(code)), code);
    at_ = write_as(at_, half);
    source_.settle(i, Fp16Code::decode(half, Fp16Format::unscaling(code)));
  }

  TopkSource& source_;
  std::size_t count_;
  TopkValue value_;
  std::byte* begin_;
  std::byte* at_;
  std::size_t marked_ = 0;
  std::size_t written_ = 0;  // elements of the blocks that are
  std::size_t no_ties_ = 0;
  TopkBitmap bitmap_;
};

// The limit that would have chosen `wanted` in place of `marked`, roughly: far out in the tail of
// what is between Gaussian and heavy-tailed a factor in number is a small factor in magnitude.
std::uint32_t nudged(std::uint32_t limit, std::size_t marked, std::size_t wanted) {
  const double ratio = static_cast<double>(marked + 1) / static_cast<double>(wanted + 1);
  const float next = float_of(limit) * static_cast<float>(std::pow(ratio, 0.15));
  return std::min(bits_of(next), kInfinityBits - 1);
}

// Starts from the limit of last time or from a sample, and corrects the sample's guess by what it
// turned out to choose, a few times; leaves the writer at the beginning when that does not help.
bool try_guesses(const TopkSource& source, TopkWriter& writer, std::size_t wanted,
                 std::uint32_t* memory) {
  constexpr int kAttempts = 3;
  auto target = static_cast<double>(wanted);
  std::uint32_t last_limit = kInfinityBits;
  std::uint32_t remembered = memory == nullptr ? 0 : *memory;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const bool sampled = remembered == 0 && source.count() > 0;
    const std::uint32_t limit = sampled ? sampled_limit(source, target, writer.end()) : remembered;
    if (limit == last_limit) return false;
    last_limit = limit;
    const bool fits = writer.try_write({limit}, topk_most(wanted));
    if (fits && (limit == 0 || writer.marked() >= topk_least(wanted))) {
      if (memory != nullptr) *memory = nudged(limit, writer.marked(), wanted);
      return true;
    }
    if (sampled) target *= static_cast<double>(wanted) / static_cast<double>(writer.marked() + 1);
    remembered = 0;
    writer.rewind();
  }
  return false;
}

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
  if (!try_guesses(source, writer, wanted, context.limit)) {
    std::size_t non_finite = 0;
    const TopkCut cut = exact_cut(source, wanted, non_finite);
    if (!writer.try_write(cut, topk_most(wanted))) {
      writer.rewind();
      writer.write_maps();
    }
  }
  return static_cast<std::size_t>(writer.end() - wire);
}

Status TopkCodec::decode(const std::byte* wire, std::size_t wire_bytes, DataType type,
                         std::size_t count, void* elements) const {
  auto* const out = static_cast<std::byte*>(elements);
  const std::size_t bytes = element_bytes(type);
  return read_topk_frame(
      wire, wire_bytes, value_, count,
      [&](std::size_t first, std::size_t n) { std::memset(out + first * bytes, 0, n * bytes); },
      [&](std::size_t i, float x) {
        if (type == DataType::float32) {
          write_as(out + i * bytes, x);
        } else {
          const bool half = type == DataType::float16;
          write_as(out + i * bytes, half ? float16_from_float(x) : bfloat16_from_float(x));
        }
      });
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
