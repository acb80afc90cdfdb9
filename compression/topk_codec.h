// TopkCodec: sends the largest elements alone. Immutable; any thread.
//
// Of n elements (the valid ones) it sends k = ceil(ratio * n), within -30 % and +30 %, or fewer
// where fewer are not zero. Every element is sent with a magnitude above some limit and none below
// it; at the limit the first ones are. The limit comes from a sample, or exactly from all elements
// where the sample was off. Elements that are not finite always travel; where they are more than k,
// alone (in the place of the others), and beyond the message's bound as no more than +Inf, -Inf or
// NaN.
//   fp32: sent elements are exact. fp16: fp16's bound (formats.h), with M the largest sent element
//   of each 65,536. Elements not sent decode to +0.
// decode_add() costs what was sent, not what there is. What is not sent is lost without a residual,
// and stale elements would be sent before all others: top-k needs both of EncodeContext.
#pragma once

#include "compression/codec.h"
#include "compression/topk_select.h"

namespace thinwire::compression {

class TopkCodec final : public Codec {
 public:
  TopkCodec(float ratio, TopkValue value) : ratio_(ratio), value_(value) {}

  CodecId id() const override { return CodecId::topk; }
  bool supports(DataType type) const override { return is_compressible(type); }
  std::size_t max_encoded_bytes(std::size_t count, DataType type) const override;
  std::size_t encode(const void* elements, DataType type, std::size_t count, std::byte* wire,
                     const EncodeContext& context) const override;
  Status decode(const std::byte* wire, std::size_t wire_bytes, DataType type, std::size_t count,
                void* elements) const override;
  Status decode_add(const std::byte* wire, std::size_t wire_bytes, std::size_t count,
                    float* accumulator) const override;

 private:
  float ratio_;
  TopkValue value_;
};

}  // namespace thinwire::compression
