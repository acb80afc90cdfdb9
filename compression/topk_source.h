// TopkSource: the elements that top-k chooses from, with the residual added in the first pass over
// them. Lives on the stack of one encode().
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "compression/codec.h"
#include "compression/float_bits.h"
#include "compression/frame.h"
#include "compression/topk_frame.h"

namespace thinwire::compression {

using TopkBitmap = std::array<std::uint64_t, kTopkBlock / 64>;

class TopkSource {
 public:
  // `count` elements, none stale.
  TopkSource(const void* elements, DataType type, std::size_t count, float* residual);

  std::size_t count() const { return count_; }

  // Element i: the sum where there is a residual, the element alone where that is not finite.
  float at(std::size_t i) const {
    const float x = element(i);
    if (residual_ == nullptr || magnitude_bits(x) >= kInfinityBits) return x;
    if (i < summed_) return residual_[i];
    return std::clamp(x + residual_[i], -largest_, largest_);
  }

  // The elements, where at() is nothing else; or null.
  const float* plain() const {
    const bool is_plain = type_ == DataType::float32 && residual_ == nullptr;
    return is_plain ? reinterpret_cast<const float*>(elements_) : nullptr;
  }

  // Marks those of the n <= kTopkBlock elements from `first` on whose magnitude (bits) is above
  // `limit`, and all that are not finite; returns how many. Bits from n on are zero. The first time
  // blocks come in order, and their residuals become sums.
  std::size_t mark(std::size_t first, std::size_t n, std::uint32_t limit, std::uint64_t* bitmap);
  // None of the elements is NaN or infinite: marking sums need not look for them again.
  void set_finite() { finite_ = true; }
  // Element i, at(i) being `x`, was sent as `sent`: what is left of it is the residual.
  void settle(std::size_t i, float x, float sent) {
    if (residual_ != nullptr && magnitude_bits(x) < kInfinityBits) residual_[i] = x - sent;
  }

 private:
  std::size_t mark_words(const float* x, float* residual, bool summed, std::size_t words,
                         std::uint32_t limit, std::uint64_t* bitmap);
  float element(std::size_t i) const {
    if (type_ == DataType::float32) return read_as<float>(elements_ + i * sizeof(float));
    const auto half = read_as<std::uint16_t>(elements_ + i * sizeof(std::uint16_t));
    return type_ == DataType::float16 ? float_from_float16(half) : float_from_bfloat16(half);
  }

  const std::byte* elements_;
  DataType type_;
  std::size_t count_;
  float* residual_;
  float largest_;
  std::size_t summed_ = 0;  // elements whose residuals are sums
  bool finite_ = false;
  alignas(64) std::array<float, kTileElements> tile_;
};

}  // namespace thinwire::compression
