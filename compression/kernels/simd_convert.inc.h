// Conversions between vectors of floats and narrower elements: the part of simd.inc.h that knows
// the instruction sets. Bit for bit what float_bits.h does.

template <class D>
hn::Vec<D> nan_vector(D d) {
  using T = hn::TFromD<D>;
  if constexpr (sizeof(T) == 4) {
    return hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), kCanonicalNanBits));
  } else {
    return hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7ff8000000000000ull));
  }
}

template <class D>
hn::Vec<D> canonical_nan(D d, hn::Vec<D> v) {
  return hn::IfThenElse(hn::IsNaN(v), nan_vector(d), v);
}

Floats float32_at(const std::uint8_t* from) {
  return hn::BitCast(F32(), hn::LoadU(hn::Repartition<std::uint8_t, F32>(), from));
}

Bits uint16_at(const std::uint8_t* from) {
  return hn::PromoteTo(U32(), hn::LoadU(U16(), reinterpret_cast<const std::uint16_t*>(from)));
}

// Lanes below 2^16.
void store_uint16(Bits lanes, std::uint8_t* to) {
  hn::StoreU(hn::DemoteTo(U16(), hn::BitCast(I32(), lanes)), U16(),
             reinterpret_cast<std::uint16_t*>(to));
}

Floats bfloat16_at(const std::uint8_t* from) {
  return hn::BitCast(F32(), hn::ShiftLeft<16>(uint16_at(from)));
}

// Highway 1.0.3's own conversion truncates.
void store_bfloat16(Floats value, std::uint8_t* to) {
  const Bits bits = hn::BitCast(U32(), value);
  const Bits high = hn::ShiftRight<16>(bits);
  const Bits odd = hn::And(high, hn::Set(U32(), 1));
  const Bits rounded = hn::ShiftRight<16>(bits + odd + hn::Set(U32(), 0x7fff));
  const Bits quiet = hn::Or(high, hn::Set(U32(), 0x40));
  store_uint16(hn::IfThenElse(hn::RebindMask(U32(), hn::IsNaN(value)), quiet, rounded), to);
}

#if HWY_TARGET == HWY_SSE4  // no conversion instructions

using Halves = Bits;  // float16, in the lower half of each lane

Floats from_halves(Halves half) {
  const Bits magnitude = hn::And(half, hn::Set(U32(), 0x7fff));
  const Bits sign = hn::ShiftLeft<16>(hn::Xor(half, magnitude));
  const Bits shifted = hn::ShiftLeft<13>(magnitude);
  const Bits normal = shifted + hn::Set(U32(), 112u << 23);
  const Floats small =
      hn::ConvertTo(F32(), hn::BitCast(I32(), magnitude)) * hn::Set(F32(), 0x1p-24f);
  const Bits nan = hn::Set(U32(), 0x400000);
  const Bits special = shifted + hn::Set(U32(), 224u << 23);
  const Bits quieted =
      hn::IfThenElse(hn::Gt(magnitude, hn::Set(U32(), 0x7c00)), hn::Or(special, nan), special);
  const Bits finite =
      hn::IfThenElse(hn::Lt(magnitude, hn::Set(U32(), 0x400)), hn::BitCast(U32(), small), normal);
  return hn::BitCast(F32(), hn::Or(sign, hn::IfThenElse(hn::Gt(magnitude, hn::Set(U32(), 0x7bff)),
                                                        quieted, finite)));
}

Halves to_halves(Floats value) {
  const Bits bits = hn::BitCast(U32(), value);
  const Bits magnitude = hn::And(bits, hn::Set(U32(), 0x7fffffff));
  const Bits sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));
  const Bits odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(U32(), 1));
  const Bits normal =
      hn::ShiftRight<13>(magnitude + odd + hn::Set(U32(), 0xfff) - hn::Set(U32(), 112u << 23));
  const Floats half_unit = hn::Set(F32(), 0.5f);
  const Bits small =
      hn::BitCast(U32(), hn::BitCast(F32(), magnitude) + half_unit) - hn::BitCast(U32(), half_unit);
  const Bits payload = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(U32(), 0x1ff));
  Bits result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(U32(), 0x38800000)), small, normal);
  result =
      hn::IfThenElse(hn::Gt(magnitude, hn::Set(U32(), 0x477fefff)), hn::Set(U32(), 0x7c00), result);
  result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(U32(), kInfinityBits)),
                          hn::Or(payload, hn::Set(U32(), 0x7e00)), result);
  return hn::Or(sign, result);
}

Halves halves_at(const std::uint8_t* from) { return uint16_at(from); }
void store_halves(Halves halves, std::uint8_t* to) { store_uint16(halves, to); }
Halves widened(hn::Vec<I8> bytes) { return hn::BitCast(U32(), hn::PromoteTo(I32(), bytes)); }
Halves masked(Halves halves, std::uint16_t mask) { return hn::And(halves, hn::Set(U32(), mask)); }

#else

using F16 = hn::Rebind<hwy::float16_t, F32>;

using Halves = hn::Vec<U16>;

Floats from_halves(Halves halves) { return hn::PromoteTo(F32(), hn::BitCast(F16(), halves)); }
Halves to_halves(Floats value) { return hn::BitCast(U16(), hn::DemoteTo(F16(), value)); }

Halves halves_at(const std::uint8_t* from) {
  return hn::LoadU(U16(), reinterpret_cast<const std::uint16_t*>(from));
}
void store_halves(Halves halves, std::uint8_t* to) {
  hn::StoreU(halves, U16(), reinterpret_cast<std::uint16_t*>(to));
}
Halves widened(hn::Vec<I8> bytes) {
  return hn::BitCast(U16(), hn::PromoteTo(hn::RebindToSigned<U16>(), bytes));
}
Halves masked(Halves halves, std::uint16_t mask) { return hn::And(halves, hn::Set(U16(), mask)); }

#endif

Floats float16_at(const std::uint8_t* from) { return from_halves(halves_at(from)); }
void store_float16(Floats value, std::uint8_t* to) { store_halves(to_halves(value), to); }

#if HWY_TARGET == HWY_NEON

hn::Vec<I32> round_to_integer(Floats v) { return hn::NearestInt(v); }

void store_narrowed(hn::Vec<I32> a, hn::Vec<I32> b, hn::Vec<I32> c, hn::Vec<I32> d,
                    std::int8_t* to) {
  const int16x8_t low = vcombine_s16(vqmovn_s32(a.raw), vqmovn_s32(b.raw));
  const int16x8_t high = vcombine_s16(vqmovn_s32(c.raw), vqmovn_s32(d.raw));
  vst1q_s8(to, vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)));
}

#elif HWY_TARGET == HWY_SSE4

hn::Vec<I32> round_to_integer(Floats v) { return hn::Vec<I32>{_mm_cvtps_epi32(v.raw)}; }

void store_narrowed(hn::Vec<I32> a, hn::Vec<I32> b, hn::Vec<I32> c, hn::Vec<I32> d,
                    std::int8_t* to) {
  const __m128i low = _mm_packs_epi32(a.raw, b.raw), high = _mm_packs_epi32(c.raw, d.raw);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(low, high));
}

#elif HWY_TARGET == HWY_AVX2

hn::Vec<I32> round_to_integer(Floats v) { return hn::Vec<I32>{_mm256_cvtps_epi32(v.raw)}; }

// The packs work within 128-bit lanes: put the 4-byte groups back in order at the end.
void store_narrowed(hn::Vec<I32> a, hn::Vec<I32> b, hn::Vec<I32> c, hn::Vec<I32> d,
                    std::int8_t* to) {
  const __m256i low = _mm256_packs_epi32(a.raw, b.raw), high = _mm256_packs_epi32(c.raw, d.raw);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i packed = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), packed);
}

#else

hn::Vec<I32> round_to_integer(Floats v) { return hn::Vec<I32>{_mm512_cvtps_epi32(v.raw)}; }

void store_narrowed(hn::Vec<I32> a, hn::Vec<I32> b, hn::Vec<I32> c, hn::Vec<I32> d,
                    std::int8_t* to) {
  const __m512i low = _mm512_packs_epi32(a.raw, b.raw), high = _mm512_packs_epi32(c.raw, d.raw);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i packed = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high));
  _mm512_storeu_si512(to, packed);
}

#endif
