// Size classes: the sizes that schedules are chosen for, powers of two. So only so many choices can
// be made, and a rank knows its peers. Pure; any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace thinwire::collectives {

inline constexpr std::size_t kLeastSizeClass = 256;
inline constexpr std::size_t kSizeClasses = 29;
inline constexpr std::size_t kLargestSizeClass = kLeastSizeClass << (kSizeClasses - 1);

// The next power of two, within bounds.
constexpr std::size_t size_class(std::size_t vector_bytes) {
  return std::bit_ceil(std::clamp(vector_bytes, kLeastSizeClass, kLargestSizeClass));
}

constexpr std::size_t size_class_index(std::size_t vector_bytes) {
  return static_cast<std::size_t>(std::countr_zero(size_class(vector_bytes)) -
                                  std::countr_zero(kLeastSizeClass));
}

}  // namespace thinwire::collectives
