#include <cstring>

#include "compression/element_codes.h"
#include "compression/float_bits.h"
#include "compression/kernels/kernels.h"

namespace thinwire::compression {
namespace {

#include "compression/kernels/plain.inc.h"

void survey(const float* x, std::size_t blocks, const SegmentRule& rule, std::uint32_t* absmax_bits,
            std::uint32_t* limit_bits) {
  const Jumps jumps = jumps_of(rule);
  for (std::size_t b = 0; b < blocks; ++b) {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      const std::uint32_t bits = magnitude_bits(x[b * kBlockElements + i]);
      if (bits > largest) largest = bits;
    }
    absmax_bits[b] = largest;
    limit_bits[b] = block_limit(x + b * kBlockElements, jumps);
  }
}

std::size_t mark_above(const float* x, std::size_t words, std::uint32_t limit_bits,
                       std::uint64_t* bitmap) {
  std::size_t marked = 0;
  for (std::size_t w = 0; w < words; ++w, x += 64) {
    bitmap[w] = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint64_t above = magnitude_bits(x[i]) > limit_bits ? 1 : 0;
      bitmap[w] |= above << i;
      marked += above;
    }
  }
  return marked;
}

std::size_t mark_sums(const float* x, float* residual, float largest, std::size_t words,
                      std::uint32_t limit_bits, std::uint64_t* bitmap) {
  std::size_t marked = 0;
  for (std::size_t w = 0; w < words; ++w, x += 64, residual += 64) {
    bitmap[w] = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const bool finite = magnitude_bits(x[i]) < kInfinityBits;
      if (finite) residual[i] = sum_within(x[i], residual[i], largest);
      const std::uint64_t above = !finite || magnitude_bits(residual[i]) > limit_bits ? 1 : 0;
      bitmap[w] |= above << i;
      marked += above;
    }
  }
  return marked;
}

template <class Code>
using PackingOf = Packing<Code::kBits>;

template <class Code>
char* block_payload(void* payload, std::size_t block) {
  return static_cast<char*>(payload) + block * PackingOf<Code>::bytes(kBlockElements);
}
template <class Code>
const char* block_payload(const void* payload, std::size_t block) {
  return static_cast<const char*>(payload) + block * PackingOf<Code>::bytes(kBlockElements);
}

template <class Code>
typename Code::Payload encoded(const BlockJob& job, std::size_t block, std::size_t at) {
  if (job.noise == nullptr) return Code::encode(job.x[at], job.scaling[block]);
  const std::uint32_t index = job.first + static_cast<std::uint32_t>(at);
  return Code::encode(job.x[at], job.scaling[block], noise_of(*job.noise, index));
}

template <class Code>
void encode(const BlockJob& job) {
  for (std::size_t b = 0; b < job.blocks; ++b) {
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      const std::size_t at = b * kBlockElements + i;
      const auto code = encoded<Code>(job, b, at);
      PackingOf<Code>::put(block_payload<Code>(job.payload, b), i, kBlockElements, code);
      if (job.residual == nullptr) continue;
      job.residual[at] = job.x[at] - Code::decode(code, job.unscaling[b]);
    }
  }
}

template <class Code>
float element(const void* payload, const float* unscaling, std::size_t block, std::size_t i) {
  using Payload = typename Code::Payload;
  const char* const from = block_payload<Code>(payload, block);
  return Code::decode(PackingOf<Code>::template get<Payload>(from, i, kBlockElements),
                      unscaling[block]);
}

template <class Code>
void decode(const void* payload, std::size_t blocks, const float* unscaling, float* out) {
  for (std::size_t b = 0; b < blocks; ++b, out += kBlockElements) {
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      out[i] = element<Code>(payload, unscaling, b, i);
    }
  }
}

template <class Code>
void decode_add(const void* payload, std::size_t blocks, const float* unscaling, float* out) {
  for (std::size_t b = 0; b < blocks; ++b, out += kBlockElements) {
    for (std::size_t i = 0; i < kBlockElements; ++i) {
      out[i] = canonical(out[i] + element<Code>(payload, unscaling, b, i));
    }
  }
}

void stream(const void* from, std::size_t bytes, void* to) { std::memcpy(to, from, bytes); }
void flush() {}

template <class Code>
constexpr BlockKernels block_kernels() {
  return {encode<Code>, decode<Code>, decode_add<Code>};
}

Kernels make_kernels() {
  Kernels k{};
  k.survey = survey;
  k.first_above = first_above;
  k.add_residual = add_residual;
  k.mark_above = mark_above;
  k.mark_sums = mark_sums;
  k.extract = extract;
  k.stream = stream;
  k.flush = flush;
  k.block[kFp16] = block_kernels<Fp16Code>();
  k.block[kInt8] = block_kernels<Int8Code>();
  k.block[kBf16] = block_kernels<Bf16Code>();
  k.block[kInt4] = block_kernels<Int4Code>();
  k.block[kE4m3] = block_kernels<E4m3Code>();
  k.block[kE5m2] = block_kernels<E5m2Code>();
  set_plain(k);
  return k;
}

}  // namespace

const Kernels& scalar_kernels() {
  static const Kernels kKernels = make_kernels();
  return kKernels;
}

}  // namespace thinwire::compression
