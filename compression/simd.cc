#include "compression/simd.h"

#include <atomic>

#if THINWIRE_SIMD_X86
#include <cpuid.h>
#endif

#include "compression/kernels/kernels.h"

namespace thinwire::compression {
namespace {

#if THINWIRE_SIMD_X86

struct CpuFeatures {
  bool sse4, avx2, avx512;
};

// Bits of the Intel SDM's CPUID leaves 1 and 7; XCR0 says what the operating system saves.
CpuFeatures cpu_features() {
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return {};
  constexpr unsigned kSse = bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2;
  constexpr unsigned kAvx = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
  CpuFeatures features{(c & kSse) == kSse, false, false};
  if (!features.sse4 || (c & kAvx) != kAvx) return features;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kYmm = 0x6, kZmm = 0xe6;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return features;
  constexpr unsigned kSeven = bit_AVX2 | bit_BMI | bit_BMI2;
  constexpr unsigned k512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_AVX512CD;
  features.avx2 = (low & kYmm) == kYmm && (b & kSeven) == kSeven;
  features.avx512 = features.avx2 && (low & kZmm) == kZmm && (b & k512) == k512;
  return features;
}

#endif

struct Supported {
  SimdTarget targets[4];
  std::size_t count;
};

Supported detect() {
  Supported supported{{SimdTarget::scalar}, 1};
#if THINWIRE_SIMD_X86
  const CpuFeatures features = cpu_features();
  if (features.sse4) supported.targets[supported.count++] = SimdTarget::sse4;
  if (features.avx2) supported.targets[supported.count++] = SimdTarget::avx2;
  if (features.avx512) supported.targets[supported.count++] = SimdTarget::avx512;
#elif THINWIRE_SIMD_NEON
  supported.targets[supported.count++] = SimdTarget::neon;
#endif
  return supported;
}

const Kernels& kernels_of(SimdTarget target) {
  switch (target) {
#if THINWIRE_SIMD_X86
    case SimdTarget::sse4:
      return sse4_kernels();
    case SimdTarget::avx2:
      return avx2_kernels();
    case SimdTarget::avx512:
      return avx512_kernels();
#elif THINWIRE_SIMD_NEON
    case SimdTarget::neon:
      return neon_kernels();
#endif
    default:
      return scalar_kernels();
  }
}

// What is in use. The one piece of state of this folder: it changes speed, never a result.
struct Choice {
  std::atomic<SimdTarget> target{supported_targets().back()};
  std::atomic<const Kernels*> table{&kernels_of(target)};
};

Choice& choice() {
  static Choice current;
  return current;
}

}  // namespace

std::string_view name_of(SimdTarget target) {
  constexpr std::string_view kNames[] = {"scalar", "sse4", "avx2", "avx512", "neon"};
  return kNames[static_cast<int>(target)];
}

std::span<const SimdTarget> supported_targets() {
  static const Supported supported = detect();
  return {supported.targets, supported.count};
}

SimdTarget current_target() { return choice().target.load(std::memory_order_relaxed); }

void force_target(SimdTarget target) {
  choice().table.store(&kernels_of(target), std::memory_order_release);
  choice().target.store(target, std::memory_order_relaxed);
}

const Kernels& kernels() { return *choice().table.load(std::memory_order_acquire); }

}  // namespace thinwire::compression
