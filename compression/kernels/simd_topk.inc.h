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

[[gnu::flatten]] std::size_t simd_mark_sums(const float* x, float* residual, float largest,
                                            std::size_t words, std::uint32_t limit_bits,
                                            std::uint64_t* bitmap) {
  std::size_t marked = 0;
  for (std::size_t w = 0; w < words; ++w, x += 64, residual += 64) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 64; i += kLanes) {
      const Floats value = hn::LoadU(F32(), x + i), old = hn::LoadU(F32(), residual + i);
      const Floats within = sums_within(value, old, largest);
      const FloatMask lone = is_above(value, kInfinityBits - 1);
      hn::StoreU(hn::IfThenElse(lone, old, within), F32(), residual + i);
      word |= bits_of_mask(hn::Or(lone, is_above(within, limit_bits))) << i;
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
  hwy::FlushStream();
}
