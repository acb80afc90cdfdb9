#include "compression/simd.h"

#include <atomic>

#include "compression/kernels/kernels.h"

namespace thinwire::compression {
namespace {

constexpr SimdTarget kTargets[] = {SimdTarget::scalar};

std::atomic<const Kernels*> g_kernels{nullptr};

}  // namespace

std::string_view name_of(SimdTarget target) {
  constexpr std::string_view kNames[] = {"scalar", "sse4", "avx2", "avx512", "neon"};
  return kNames[static_cast<int>(target)];
}

std::span<const SimdTarget> supported_targets() { return kTargets; }
SimdTarget current_target() { return SimdTarget::scalar; }
void force_target(SimdTarget) {}
const Kernels& kernels() { return scalar_kernels(); }

}  // namespace thinwire::compression
