// Adding residuals, streaming, and marking the elements that top-k sends. Part of simd.inc.h.

using FloatMask = hn::Mask<F32>;

FloatMask is_above(Floats x, std::uint32_t limit_bits) {
  const auto limit = hn::Set(I32(), static_cast<std::int32_t>(limit_bits));
  const Bits magnitude = hn::And(hn::BitCast(U32(), x), hn::Set(U32(), 0x7fffffffu));
  return hn::RebindMask(F32(), hn::Gt(hn::BitCast(I32(), magnitude), limit));
}

Floats sums_within(Floats x, Floats residual, float limit) {
  const Floats sum = hn::Add(x, residual);
  return hn::Max(hn::Min(sum, hn::Set(F32(), limit)), hn::Set(F32(), -limit));
}

[[gnu::flatten]] void simd_add_residual(const float* x, const float* residual, float limit,
                                        std::size_t count, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Floats value = hn::LoadU(F32(), x + i);
    const Floats within = sums_within(value, hn::LoadU(F32(), residual + i), limit);
    hn::StoreU(hn::IfThenElse(is_above(value, kInfinityBits - 1), value, within), F32(), out + i);
  }
  add_residual(x + i, residual + i, limit, count - i, out + i);
}

std::uint64_t bits_of_mask(FloatMask mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(F32(), mask, bytes);
  return kLanes > 8 ? static_cast<std::uint64_t>(bytes[0] | bytes[1] << 8) : bytes[0];
}

[[gnu::flatten]] std::size_t simd_mark_above(const float* x, std::size_t words,
                                             std::uint32_t limit_bits, std::uint64_t* bitmap) {
  std::size_t marked = 0;
  for (std::size_t w = 0; w < words; ++w, x += 64) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 64; i += kLanes) {
      word |= bits_of_mask(is_above(hn::LoadU(F32(), x + i), limit_bits)) << i;
    }
    bitmap[w] = word;
    marked += static_cast<std::size_t>(__builtin_popcountll(word));
  }
  return marked;
}

// What a vector of sums says of itself: its magnitudes, and which are above the limit.
struct SumBits {
  Bits magnitude;
  std::uint64_t above;
};

SumBits sum_bits(Floats sum, hn::Vec<I32> limit) {
  const Bits magnitude = hn::And(hn::BitCast(U32(), sum), hn::Set(U32(), 0x7fffffffu));
  const auto above = hn::Gt(hn::BitCast(I32(), magnitude), limit);
  return {magnitude, bits_of_mask(hn::RebindMask(F32(), above))};
}

// Of elements and sums of which some may be out of bounds or not finite.
std::uint64_t mark_careful(const float* x, float* residual, float largest, std::size_t lanes,
                           std::uint32_t limit_bits) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < lanes; i += kLanes) {
    const Floats value = hn::LoadU(F32(), x + i), old = hn::LoadU(F32(), residual + i);
    const Floats within = sums_within(value, old, largest);
    const FloatMask lone = is_above(value, kInfinityBits - 1);
    hn::StoreU(hn::IfThenElse(lone, old, within), F32(), residual + i);
    word |= bits_of_mask(hn::Or(lone, is_above(within, limit_bits))) << i;
  }
  return word;
}

[[gnu::flatten]] std::size_t simd_mark_sums(const float* x, float* residual, float largest,
                                            std::size_t words, std::uint32_t limit_bits,
                                            std::uint64_t* bitmap) {
  constexpr std::size_t kGroup = 4 * kLanes;
  const auto limit = hn::Set(I32(), static_cast<std::int32_t>(limit_bits));
  const auto bound = hn::BitCast(I32(), hn::Set(F32(), largest));
  const auto sum_at = [&](std::size_t i) {
    return hn::Add(hn::LoadU(F32(), x + i), hn::LoadU(F32(), residual + i));
  };
  std::size_t marked = 0;
  for (std::size_t w = 0; w < words; ++w, x += 64, residual += 64) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 64; i += kGroup) {
      const Floats s0 = sum_at(i), s1 = sum_at(i + kLanes);
      const Floats s2 = sum_at(i + 2 * kLanes), s3 = sum_at(i + 3 * kLanes);
      const SumBits b0 = sum_bits(s0, limit), b1 = sum_bits(s1, limit);
      const SumBits b2 = sum_bits(s2, limit), b3 = sum_bits(s3, limit);
      const Bits most =
          hn::Max(hn::Max(b0.magnitude, b1.magnitude), hn::Max(b2.magnitude, b3.magnitude));
      // An element that is not finite makes a sum that is not.
      if (!hn::AllFalse(I32(), hn::Gt(hn::BitCast(I32(), most), bound))) {
        word |= mark_careful(x + i, residual + i, largest, kGroup, limit_bits) << i;
        continue;
      }
      hn::StoreU(s0, F32(), residual + i);
      hn::StoreU(s1, F32(), residual + i + kLanes);
      hn::StoreU(s2, F32(), residual + i + 2 * kLanes);
      hn::StoreU(s3, F32(), residual + i + 3 * kLanes);
      word |= (b0.above | b1.above << kLanes | b2.above << 2 * kLanes | b3.above << 3 * kLanes)
              << i;
    }
    bitmap[w] = word;
    marked += static_cast<std::size_t>(__builtin_popcountll(word));
  }
  return marked;
}

void simd_stream(const void* from, std::size_t bytes, void* to) {
  static_assert(64 % (kLanes * sizeof(float)) == 0);
  const auto* source = static_cast<const std::uint8_t*>(from);
  auto* target = static_cast<float*>(to);
  for (std::size_t i = 0; i < bytes / sizeof(float); i += kLanes) {
    hn::Stream(float32_at(source + i * sizeof(float)), F32(), target + i);
  }
}

void simd_flush() { hwy::FlushStream(); }
