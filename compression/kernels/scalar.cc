#include <cstring>

#include "compression/float_bits.h"
#include "compression/kernels/kernels.h"

namespace thinwire::compression {
namespace {

#include "compression/kernels/plain.inc.h"

void survey(const float* x, std::size_t blocks, const SegmentRule& rule, std::uint32_t* absmax_bits,
            std::uint32_t* limit_bits) {
  for (std::size_t b = 0; b < blocks; ++b) {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      const std::uint32_t bits = magnitude_bits(x[b * kBlockElements + i]);
      if (bits > largest) largest = bits;
    }
    absmax_bits[b] = largest;
    limit_bits[b] = block_limit(x + b * kBlockElements, rule);
  }
}

void int8_encode(const float* x, std::size_t blocks, const float* inverse, void* q) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) {
    // In [1, 2) * 2^23 the last place is 1, so that the addition rounds to an integer.
    const float shifted = x[i] * inverse[i / kBlockElements] + 0x1.8p23f;
    write(q, i, static_cast<std::int8_t>(bits_of(shifted) & 0xffu));
  }
}

float int8_value(const void* q, const float* scale, std::size_t i) {
  return static_cast<float>(read<std::int8_t>(q, i)) * scale[i / kBlockElements];
}

void int8_decode(const void* q, std::size_t blocks, const float* scale, float* out) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) out[i] = int8_value(q, scale, i);
}

void int8_decode_add(const void* q, std::size_t blocks, const float* scale, float* out) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) {
    out[i] = canonical(out[i] + int8_value(q, scale, i));
  }
}

void fp16_encode(const float* x, std::size_t blocks, const float* scale, void* half) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) {
    write(half, i, float16_from_float(x[i] * scale[i / kBlockElements]));
  }
}

float fp16_value(const void* half, const float* scale, std::size_t i) {
  return float_from_float16(read<std::uint16_t>(half, i)) * scale[i / kBlockElements];
}

void fp16_decode(const void* half, std::size_t blocks, const float* scale, float* out) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) out[i] = fp16_value(half, scale, i);
}

void fp16_decode_add(const void* half, std::size_t blocks, const float* scale, float* out) {
  for (std::size_t i = 0; i < blocks * kBlockElements; ++i) {
    out[i] = canonical(out[i] + fp16_value(half, scale, i));
  }
}

Kernels make_kernels() {
  Kernels k{survey,      first_above, int8_encode,     int8_decode, int8_decode_add,
            fp16_encode, fp16_decode, fp16_decode_add, {},          {},
            {}};
  set_plain(k);
  return k;
}

}  // namespace

const Kernels& scalar_kernels() {
  static const Kernels kKernels = make_kernels();
  return kKernels;
}

}  // namespace thinwire::compression
