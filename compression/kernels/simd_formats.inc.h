// The block formats on vectors: bit for bit what element_codes.h does. Part of simd.inc.h.
//
// A Vector format has kBits (of a payload), kScaled, Code (a vector of codes) and
//   encode(x, scaling[, noise]) -> Encoded: the code, and what it stands for before unscaling
//   at(payload, index)          decoded, before unscaling

Bits noise_at(const NoiseKey& key, std::uint32_t index) {
  // Iota of a variable is slow in Highway 1.0.3.
  const Bits indices = hn::Iota(U32(), 0u) + hn::Set(U32(), index);
  Bits h = hn::Xor(indices, hn::Set(U32(), key.first));
  h = hn::Mul(hn::Xor(h, hn::ShiftRight<16>(h)), hn::Set(U32(), kNoiseMultiplier1));
  h = hn::Add(hn::Xor(h, hn::ShiftRight<15>(h)), hn::Set(U32(), key.second));
  return hn::Mul(hn::Xor(h, hn::ShiftRight<16>(h)), hn::Set(U32(), kNoiseMultiplier2));
}

Floats dither_from(Bits noise) {
  const Bits kept = hn::And(hn::ShiftRight<9>(noise), hn::Set(U32(), kDitherMask));
  const Bits bits = hn::Or(kept, hn::Set(U32(), kDitherOne));
  return hn::Sub(hn::BitCast(F32(), bits), hn::Set(F32(), 1.5f));
}

Bits magnitude_of(Bits bits) { return hn::And(bits, hn::Set(U32(), 0x7fffffffu)); }

template <class C>
struct Encoded {
  C code;
  Floats value;
};

struct VectorFp16 {
  static constexpr int kBits = 16;
  static constexpr bool kScaled = true;
  using Code = Halves;
  static Encoded<Code> encode(Floats x, Floats scaling) {
    const Halves half = to_halves(hn::Mul(x, scaling));
    return {half, from_halves(half)};
  }
  static Encoded<Code> encode(Floats x, Floats scaling, Bits) { return encode(x, scaling); }
  static void store(Code code, std::uint8_t* to) { store_halves(code, to); }
  static Floats at(const std::uint8_t* payload, std::size_t index) {
    return float16_at(payload + 2 * index);
  }
};

struct VectorBf16 {
  static constexpr int kBits = 16;
  static constexpr bool kScaled = false;
  using Code = Bits;
  // `rounding` is what carries into the upper half.
  static Encoded<Code> rounded(Bits bits, Bits rounding) {
    const Bits sum = bits + rounding;
    const auto magnitude = hn::BitCast(I32(), magnitude_of(bits));
    const auto special = magnitude > hn::Set(I32(), static_cast<std::int32_t>(kBf16LargestHalf));
    const Bits code = hn::ShiftRight<16>(hn::AllFalse(I32(), special) ? sum : capped(bits, sum));
    return {code, hn::BitCast(F32(), hn::ShiftLeft<16>(code))};
  }
  static Bits capped(Bits bits, Bits sum) {
    const Bits magnitude = magnitude_of(bits);
    Bits result = magnitude_of(sum);
    result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(U32(), kHalfOverflow)),
                            hn::Min(result, hn::Set(U32(), kBf16LargestHalf)), result);
    result = hn::Min(result, hn::Set(U32(), kBf16Largest));
    result =
        hn::IfThenElse(hn::Gt(magnitude, hn::Set(U32(), kInfinityBits - 1)), magnitude, result);
    const Bits quiet = hn::Or(result, hn::Set(U32(), 0x400000u));
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(U32(), kInfinityBits)), quiet, result);
    return hn::Or(result, hn::Xor(bits, magnitude));
  }
  static Encoded<Code> encode(Floats x, Floats) {
    const Bits bits = hn::BitCast(U32(), x);
    const Bits odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(U32(), 1));
    return rounded(bits, odd + hn::Set(U32(), 0x7fff));
  }
  static Encoded<Code> encode(Floats x, Floats, Bits noise) {
    return rounded(hn::BitCast(U32(), x), hn::ShiftRight<16>(noise));
  }
  static void store(Code code, std::uint8_t* to) { store_uint16(code, to); }
  static Floats at(const std::uint8_t* payload, std::size_t index) {
    return bfloat16_at(payload + 2 * index);
  }
};

hn::Vec<I32> signed_bytes_at(const std::uint8_t* from) {
  return hn::PromoteTo(I32(), hn::LoadU(I8(), reinterpret_cast<const std::int8_t*>(from)));
}

template <int kIntegerBits>
struct VectorInteger {
  static constexpr int kBits = kIntegerBits;
  static constexpr bool kScaled = true;
  using Code = hn::Vec<I32>;
  static Encoded<Code> rounded(Floats quotient) {
    const Code code = round_to_integer(quotient);
    return {code, hn::ConvertTo(F32(), code)};
  }
  static Encoded<Code> encode(Floats x, Floats scaling) { return rounded(hn::Mul(x, scaling)); }
  static Encoded<Code> encode(Floats x, Floats scaling, Bits noise) {
    return rounded(hn::Add(hn::Mul(x, scaling), dither_from(noise)));
  }
  static Floats at(const std::uint8_t* payload, std::size_t index) {
    return hn::ConvertTo(F32(), signed_bytes_at(payload + index));
  }
};

template <int kMantissaBits>
struct VectorFloat8 {
  static constexpr int kBits = 8;
  static constexpr bool kScaled = true;
  using Code = hn::Vec<I32>;
  using Scalar = Float8Code<kMantissaBits>;
  static Bits exponent_of(Floats v) {
    const Bits exponent = hn::And(hn::BitCast(U32(), v), hn::Set(U32(), kInfinityBits));
    return hn::Max(exponent, hn::Set(U32(), Scalar::kLeastExponent));
  }
  // `v` decides sign and exponent, `moved` is what is rounded.
  static Encoded<Code> rounded(Floats v, Floats moved, Bits exponent) {
    const Bits anchor = exponent + hn::Set(U32(), Scalar::kAnchor);
    const Floats sum = hn::Add(moved, hn::BitCast(F32(), anchor));
    const Code places = hn::BitCast(I32(), hn::BitCast(U32(), sum) - anchor);
    const Bits above = exponent - hn::Set(U32(), Scalar::kLeastExponent);
    const Code shifted = hn::BitCast(I32(), hn::ShiftRight<Scalar::kShift>(above));
    const Code sign = hn::AndNot(hn::Set(I32(), 0x7f), hn::ShiftRight<31>(hn::BitCast(I32(), v)));
    const Code code = hn::Or(hn::Abs(places) + shifted, sign);
    return {code, hn::CopySign(hn::Sub(sum, hn::BitCast(F32(), anchor)), v)};
  }
  static Encoded<Code> encode(Floats x, Floats scaling) {
    const Floats v = hn::Mul(x, scaling);
    return rounded(v, v, exponent_of(v));
  }
  static Encoded<Code> encode(Floats x, Floats scaling, Bits noise) {
    const Floats v = hn::Mul(x, scaling);
    const Bits exponent = exponent_of(v);
    const Bits unit = exponent - hn::Set(U32(), static_cast<std::uint32_t>(kMantissaBits) << 23);
    const Floats dither = hn::Mul(dither_from(noise), hn::BitCast(F32(), unit));
    return rounded(v, hn::Add(v, dither), exponent);
  }
  static Floats at(const std::uint8_t* payload, std::size_t index) {
    const auto bytes = hn::LoadU(I8(), reinterpret_cast<const std::int8_t*>(payload + index));
    return from_halves(
        masked(hn::ShiftLeft<10 - kMantissaBits>(widened(bytes)), Scalar::kHalfMask));
  }
};
