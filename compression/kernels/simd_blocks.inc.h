// Encoding and decoding whole blocks with the formats of simd_formats.inc.h. Part of simd.inc.h.

#include "compression/kernels/simd_formats.inc.h"

// Encodes the vector of elements at `at`, one of block b's.
template <class Format, bool kNoisy, bool kLossKept>
typename Format::Code encoded_at(const BlockJob& job, std::size_t at, Floats scaling,
                                 Floats unscaling) {
  const Floats x = hn::LoadU(F32(), job.x + at);
  Encoded<typename Format::Code> encoded;
  if constexpr (kNoisy) {
    const Bits noise = noise_at(*job.noise, job.first + static_cast<std::uint32_t>(at));
    encoded = Format::encode(x, scaling, noise);
  } else {
    encoded = Format::encode(x, scaling);
  }
  if constexpr (kLossKept) {
    const Floats decoded = Format::kScaled ? hn::Mul(encoded.value, unscaling) : encoded.value;
    hn::StoreU(hn::Sub(x, decoded), F32(), job.residual + at);
  }
  return encoded.code;
}

template <class Format, bool kNoisy, bool kLossKept>
void encode_block(const BlockJob& job, std::size_t begin, Floats scaling, Floats unscaling,
                  std::uint8_t* to) {
  const auto code_at = [&](std::size_t i) {
    return encoded_at<Format, kNoisy, kLossKept>(job, begin + i, scaling, unscaling);
  };
  if constexpr (Format::kBits == 16) {
    for (std::size_t i = 0; i < kBlockElements; i += kLanes) Format::store(code_at(i), to + 2 * i);
  } else if constexpr (Format::kBits == 8) {
    for (std::size_t i = 0; i < kBlockElements; i += 4 * kLanes) {
      const auto a = code_at(i), b = code_at(i + kLanes);
      const auto c = code_at(i + 2 * kLanes), d = code_at(i + 3 * kLanes);
      store_narrowed(a, b, c, d, reinterpret_cast<std::int8_t*>(to + i));
    }
  } else {
    const auto pair_at = [&](std::size_t i) {
      const auto low = hn::And(code_at(i), hn::Set(I32(), 0xf));
      return hn::Or(low, hn::ShiftLeft<4>(code_at(i + kBlockElements / 2)));
    };
    for (std::size_t i = 0; i < kBlockElements / 2; i += 4 * kLanes) {
      const auto a = pair_at(i), b = pair_at(i + kLanes);
      const auto c = pair_at(i + 2 * kLanes), d = pair_at(i + 3 * kLanes);
      store_narrowed(a, b, c, d, reinterpret_cast<std::int8_t*>(to + i));
    }
  }
}

template <class Format, bool kNoisy, bool kLossKept>
void encode_blocks(const BlockJob& job) {
  auto* to = static_cast<std::uint8_t*>(job.payload);
  for (std::size_t b = 0; b < job.blocks; ++b) {
    const Floats scaling = hn::Set(F32(), Format::kScaled ? job.scaling[b] : 1.0f);
    const Floats unscaling = hn::Set(F32(), Format::kScaled ? job.unscaling[b] : 1.0f);
    encode_block<Format, kNoisy, kLossKept>(job, b * kBlockElements, scaling, unscaling, to);
    to += kBlockElements * Format::kBits / 8;
  }
}

template <class Format>
[[gnu::flatten]] void simd_encode(const BlockJob& job) {
  const bool kept = job.residual != nullptr;
  if (job.noise != nullptr) {
    return kept ? encode_blocks<Format, true, true>(job) : encode_blocks<Format, true, false>(job);
  }
  return kept ? encode_blocks<Format, false, true>(job) : encode_blocks<Format, false, false>(job);
}

// Where a decoded vector goes.
struct Assign {
  static void apply(float* out, Floats decoded) { hn::StoreU(decoded, F32(), out); }
};
struct Accumulate {
  static void apply(float* out, Floats decoded) {
    const Floats sum = hn::Add(hn::LoadU(F32(), out), decoded);
    hn::StoreU(canonical_nan(F32(), sum), F32(), out);
  }
};

template <class Format, class Destination>
[[gnu::flatten]] void simd_decode(const void* payload, std::size_t blocks, const float* unscaling,
                                  float* out) {
  constexpr std::size_t kHalf = kBlockElements / 2;
  const auto* from = static_cast<const std::uint8_t*>(payload);
  for (std::size_t b = 0; b < blocks; ++b, out += kBlockElements) {
    const Floats factor = hn::Set(F32(), unscaling[b]);
    if constexpr (Format::kBits == 4) {
      for (std::size_t i = 0; i < kHalf; i += kLanes) {
        const auto pairs = signed_bytes_at(from + i);
        const auto low = hn::ShiftRight<28>(hn::ShiftLeft<28>(pairs));
        const auto high = hn::ShiftRight<4>(pairs);
        Destination::apply(out + i, hn::Mul(hn::ConvertTo(F32(), low), factor));
        Destination::apply(out + i + kHalf, hn::Mul(hn::ConvertTo(F32(), high), factor));
      }
    } else {
      for (std::size_t i = 0; i < kBlockElements; i += 2 * kLanes) {
        Floats low = Format::at(from, i), high = Format::at(from, i + kLanes);
        if constexpr (Format::kScaled) {
          low = hn::Mul(low, factor);
          high = hn::Mul(high, factor);
        }
        Destination::apply(out + i, low);
        Destination::apply(out + i + kLanes, high);
      }
    }
    from += kBlockElements * Format::kBits / 8;
  }
}

template <class Format>
BlockKernels block_kernels() {
  return {simd_encode<Format>, simd_decode<Format, Assign>, simd_decode<Format, Accumulate>};
}
