// The kernels on Highway vectors. Included once by each SIMD translation unit, which is compiled
// for one instruction set; everything here has internal linkage.
//
// Sums use plain Add and Mul (never MulAdd) and make every NaN the canonical one: which of two
// NaN operands an instruction returns differs between processors.

#include <hwy/highway.h>

#include <cstring>

#include "compression/float_bits.h"
#include "compression/kernels/kernels.h"

namespace thinwire::compression {
namespace {

#include "compression/kernels/plain.inc.h"

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using F64 = hn::ScalableTag<double>;
using U32 = hn::RebindToUnsigned<F32>;
using I32 = hn::RebindToSigned<F32>;
using U16 = hn::Rebind<std::uint16_t, F32>;
using I8 = hn::Rebind<std::int8_t, F32>;
using Floats = hn::Vec<F32>;
using Bits = hn::Vec<U32>;

constexpr std::size_t kLanes = HWY_LANES(float);
static_assert(kBlockElements % (4 * kLanes) == 0);

#include "compression/kernels/simd_convert.inc.h"

Bits magnitude_at(const float* x) {
  return hn::And(hn::BitCast(U32(), hn::LoadU(F32(), x)), hn::Set(U32(), 0x7fffffffu));
}

void simd_survey(const float* x, std::size_t blocks, const SegmentRule& rule,
                 std::uint32_t* absmax_bits, std::uint32_t* limit_bits) {
  for (std::size_t b = 0; b < blocks; ++b, x += kBlockElements) {
    Bits m0 = magnitude_at(x), m1 = magnitude_at(x + kLanes);
    Bits m2 = magnitude_at(x + 2 * kLanes), m3 = magnitude_at(x + 3 * kLanes);
    for (std::size_t i = 4 * kLanes; i < kBlockElements; i += 4 * kLanes) {
      m0 = hn::Max(m0, magnitude_at(x + i));
      m1 = hn::Max(m1, magnitude_at(x + i + kLanes));
      m2 = hn::Max(m2, magnitude_at(x + i + 2 * kLanes));
      m3 = hn::Max(m3, magnitude_at(x + i + 3 * kLanes));
    }
    const Bits all = hn::Max(hn::Max(m0, m1), hn::Max(m2, m3));
    absmax_bits[b] = hn::GetLane(hn::MaxOfLanes(U32(), all));
    limit_bits[b] = block_limit(x, rule);
  }
}

std::size_t simd_first_above(const float* x, std::size_t begin, std::size_t end,
                             std::uint32_t limit_bits) {
  const hn::Vec<I32> limit = hn::Set(I32(), static_cast<std::int32_t>(limit_bits));
  for (; begin + kLanes <= end; begin += kLanes) {
    const auto above = hn::BitCast(I32(), magnitude_at(x + begin)) > limit;
    const auto lane = hn::FindFirstTrue(I32(), above);
    if (lane >= 0) return begin + static_cast<std::size_t>(lane);
  }
  return first_above(x, begin, end, limit_bits);
}

hn::Vec<I32> quantised(const float* x, Floats inverse) {
  return round_to_integer(hn::Mul(hn::LoadU(F32(), x), inverse));
}

void simd_int8_encode(const float* x, std::size_t blocks, const float* inverse, void* q) {
  auto* to = static_cast<std::int8_t*>(q);
  for (std::size_t b = 0; b < blocks; ++b) {
    const Floats factor = hn::Set(F32(), inverse[b]);
    for (std::size_t i = 0; i < kBlockElements; i += 4 * kLanes, x += 4 * kLanes) {
      store_narrowed(quantised(x, factor), quantised(x + kLanes, factor),
                     quantised(x + 2 * kLanes, factor), quantised(x + 3 * kLanes, factor), to);
      to += 4 * kLanes;
    }
  }
}

// Where a decoded vector goes.
struct Assign {
  static Floats apply(const float*, Floats decoded) { return decoded; }
};
struct Accumulate {
  static Floats apply(const float* out, Floats decoded) {
    return canonical_nan(F32(), hn::Add(hn::LoadU(F32(), out), decoded));
  }
};

// What is at `index` of the payload, as floats.
struct Int8Payload {
  static Floats at(const void* from, std::size_t index) {
    const auto bytes = hn::LoadU(I8(), static_cast<const std::int8_t*>(from) + index);
    return hn::ConvertTo(F32(), hn::PromoteTo(I32(), bytes));
  }
};
struct Fp16Payload {
  static Floats at(const void* from, std::size_t index) {
    return float16_at(static_cast<const std::uint8_t*>(from) + 2 * index);
  }
};

template <class Payload, class Destination>
void simd_decode(const void* from, std::size_t blocks, const float* scale, float* out) {
  for (std::size_t b = 0; b < blocks; ++b) {
    const Floats factor = hn::Set(F32(), scale[b]);
    for (std::size_t i = b * kBlockElements; i < (b + 1) * kBlockElements; i += 2 * kLanes) {
      const Floats low = hn::Mul(Payload::at(from, i), factor);
      const Floats high = hn::Mul(Payload::at(from, i + kLanes), factor);
      hn::StoreU(Destination::apply(out + i, low), F32(), out + i);
      hn::StoreU(Destination::apply(out + i + kLanes, high), F32(), out + i + kLanes);
    }
  }
}

void simd_fp16_encode(const float* x, std::size_t blocks, const float* scale, void* half) {
  auto* to = static_cast<std::uint8_t*>(half);
  for (std::size_t b = 0; b < blocks; ++b) {
    const Floats factor = hn::Set(F32(), scale[b]);
    for (std::size_t i = 0; i < kBlockElements; i += kLanes, x += kLanes, to += 2 * kLanes) {
      store_float16(hn::Mul(hn::LoadU(F32(), x), factor), to);
    }
  }
}

#include "compression/kernels/simd_reduce.inc.h"

Kernels make_simd_kernels() {
  Kernels k{simd_survey,
            simd_first_above,
            simd_int8_encode,
            simd_decode<Int8Payload, Assign>,
            simd_decode<Int8Payload, Accumulate>,
            simd_fp16_encode,
            simd_decode<Fp16Payload, Assign>,
            simd_decode<Fp16Payload, Accumulate>,
            {},
            {},
            {}};
  set_plain(k);
  set_simd_reduce<VectorFloat32>(k, DataType::float32);
  set_simd_reduce<VectorFloat64>(k, DataType::float64);
  set_simd_converted<VectorFloat16>(k, DataType::float16);
  set_simd_converted<VectorBfloat16>(k, DataType::bfloat16);
  return k;
}

}  // namespace
}  // namespace thinwire::compression
