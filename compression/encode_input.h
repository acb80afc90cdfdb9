// EncodeInput: the elements of one encode() as floats, a tile at a time: converted, with the
// residual added, and stale ones as zeros. Lives on the stack of one encode().
#pragma once

#include <algorithm>
#include <array>

#include "compression/codec.h"
#include "compression/frame.h"

namespace thinwire::compression {

class EncodeInput {
 public:
  EncodeInput(const void* elements, DataType type, std::size_t count, const EncodeContext& context)
      : elements_(static_cast<const std::byte*>(elements)),
        type_(type),
        count_(count),
        valid_(std::min(context.valid, count)),
        residual_(context.residual) {}

  DataType type() const { return type_; }
  std::size_t count() const { return count_; }
  std::size_t valid() const { return valid_; }
  // Of the n elements from `first` on, how many are not stale.
  std::size_t valid_of(std::size_t first, std::size_t n) const {
    return first < valid_ ? std::min(n, valid_ - first) : 0;
  }
  // Of element `first`; null when there is no feedback.
  float* residual(std::size_t first) const {
    return residual_ == nullptr ? nullptr : residual_ + first;
  }
  const std::byte* raw(std::size_t first) const { return elements_ + first * element_bytes(type_); }

  // The n <= kTileElements elements from `first` on; valid until the next call.
  const float* floats(std::size_t first, std::size_t n);

  // Same for n elements as if there were no residual, to `to`.
  void load_alone(std::size_t first, std::size_t n, float* to) const;

  // Same n elements in their own type, to `to`; with the residual when there is one and `x` is what
  // floats() gave, without it when x is null. `lost` gets what that rounding loses.
  void write_raw(std::size_t first, std::size_t n, const float* x, std::byte* to,
                 float* lost) const;

 private:
  const std::byte* elements_;
  DataType type_;
  std::size_t count_;
  std::size_t valid_;
  float* residual_;
  alignas(64) std::array<float, kTileElements> tile_;
};

// The largest finite value of a type that lossy codecs know.
float largest_of(DataType type);

}  // namespace thinwire::compression
