#include "compression/segments.h"

#include <algorithm>

#include "compression/float_bits.h"
#include "compression/kernels/kernels.h"

namespace thinwire::compression {

std::uint32_t absmax(const float* x, std::size_t n) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, magnitude_bits(x[i]));
  return largest;
}

std::uint32_t finite_absmax(const float* x, std::size_t begin, std::size_t end) {
  std::uint32_t largest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t bits = magnitude_bits(x[i]);
    largest = std::max(largest, bits < kInfinityBits ? bits : 0);
  }
  return largest;
}

namespace {

constexpr std::uint32_t kNoLimit = ~0u;

// One block being split, front to back.
class Splitter {
 public:
  Splitter(const float* x, std::size_t n, const SegmentRule& rule, Segments& segments)
      : x_(x), n_(n), rule_(rule), segments_(segments) {}

  // The first elements, where the limit may fall from one to the next.
  void take_first() {
    std::uint32_t record = 0;
    for (std::size_t i = 0; i < std::min(n_, kRuleElements); ++i) {
      const std::uint32_t bits = magnitude_bits(x_[i]);
      if (bits >= kInfinityBits) continue;
      if (bits > limit_) start_at(i);
      record = std::max(record, bits);
      if (record >= rule_.dust_bits) limit_ = std::min(limit_, record + jump_bits(rule_, i + 1));
    }
  }

  // The rest, from one element beyond the limit to the next, until the limit covers `absmax_bits`.
  void take_rest(std::uint32_t absmax_bits) {
    for (std::size_t i = kRuleElements; limit_ < absmax_bits || limit_ == kNoLimit; ++i) {
      const std::uint32_t passed = limit_ == kNoLimit ? rule_.dust_bits - 1 : limit_;
      if (i < n_) i = kernels().first_above(x_, i, n_, passed);
      if (i >= n_) return;
      const std::uint32_t bits = magnitude_bits(x_[i]);
      if (bits >= kInfinityBits) continue;
      if (limit_ != kNoLimit) start_at(i);
      limit_ = bits + (rule_.last_jump << 23);
    }
  }

  void finish(std::uint32_t absmax_bits) { close(n_, absmax_bits); }

 private:
  void start_at(std::size_t i) {
    close(i, finite_absmax(x_, begin_, i));
    begin_ = i;
    limit_ = kNoLimit;
  }
  void close(std::size_t end, std::uint32_t absmax_bits) {
    segments_.end[segments_.count] = static_cast<std::uint16_t>(end);
    segments_.absmax_bits[segments_.count++] = absmax_bits;
  }

  const float* x_;
  std::size_t n_;
  const SegmentRule& rule_;
  Segments& segments_;
  std::size_t begin_ = 0;
  std::uint32_t limit_ = kNoLimit;
};

}  // namespace

void split(const float* x, std::size_t n, std::uint32_t absmax_bits, const SegmentRule& rule,
           Segments& segments) {
  segments.count = 0;
  Splitter splitter(x, n, rule, segments);
  splitter.take_first();
  splitter.take_rest(absmax_bits);
  // All that is left is within the limit, and the largest element is there.
  splitter.finish(absmax_bits);
}

}  // namespace thinwire::compression
