// The exported counters: the core's sums, cut to the size that the caller knows.
#include <algorithm>
#include <cstring>

#include "include/thinwire.h"
#include "plugin/core.h"

namespace {

int fill(thinwire_counters_v1_t* counters) {
  constexpr std::size_t kLeast = offsetof(thinwire_counters_v1_t, bytes_sent);
  if (counters == nullptr || counters->size < kLeast) return -1;
  const std::size_t size = counters->size;
  thinwire_counters_v1_t now = thinwire::plugin::core_counters();
  now.size = size;
  now.version = 1;
  now.reserved = 0;
  std::memcpy(counters, &now, std::min(size, sizeof now));
  return 0;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int thinwireCounters_v1(
    thinwire_counters_v1_t* counters) {
  try {
    return fill(counters);
  } catch (...) {
    return -1;
  }
}
