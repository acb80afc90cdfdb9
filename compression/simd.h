// Which instruction set the kernels use. The choice never changes a result, only its speed.
#pragma once

#include <span>
#include <string_view>

namespace thinwire::compression {

enum class SimdTarget { scalar, sse4, avx2, avx512, neon };

std::string_view name_of(SimdTarget target);

// Those this binary holds and this processor runs, best last. Never empty.
std::span<const SimdTarget> supported_targets();

// The target in use: the best supported one unless force_target() said otherwise.
SimdTarget current_target();

// For tests and benchmarks: use `target` (a supported one) from now on, in all threads.
void force_target(SimdTarget target);

}  // namespace thinwire::compression
