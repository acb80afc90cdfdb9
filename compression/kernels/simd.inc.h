// The kernels on Highway vectors. Included once by each SIMD translation unit, which is compiled
// for one instruction set; everything here has internal linkage.
//
// Sums use plain Add and Mul (never MulAdd) and make every NaN the canonical one: which of two
// NaN operands an instruction returns differs between processors.

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstring>

#include "compression/element_codes.h"
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
  const Jumps jumps = jumps_of(rule);
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
    limit_bits[b] = block_limit(x, jumps);
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

#include "compression/kernels/simd_blocks.inc.h"
#include "compression/kernels/simd_reduce.inc.h"
#include "compression/kernels/simd_topk.inc.h"

Kernels make_simd_kernels() {
  Kernels k{};
  k.survey = simd_survey;
  k.first_above = simd_first_above;
  k.add_residual = simd_add_residual;
  k.mark_above = simd_mark_above;
  k.mark_sums = simd_mark_sums;
  k.extract = extract;
  k.stream = simd_stream;
  k.flush = simd_flush;
  k.block[kFp16] = block_kernels<VectorFp16>();
  k.block[kInt8] = block_kernels<VectorInteger<8>>();
  k.block[kBf16] = block_kernels<VectorBf16>();
  k.block[kInt4] = block_kernels<VectorInteger<4>>();
  k.block[kE4m3] = block_kernels<VectorFloat8<3>>();
  k.block[kE5m2] = block_kernels<VectorFloat8<2>>();
  set_plain(k);
  set_simd_reduce<VectorFloat32>(k, DataType::float32);
  set_simd_reduce<VectorFloat64>(k, DataType::float64);
  set_simd_converted<VectorFloat16>(k, DataType::float16);
  set_simd_converted<VectorBfloat16>(k, DataType::bfloat16);
  return k;
}

}  // namespace
}  // namespace thinwire::compression
