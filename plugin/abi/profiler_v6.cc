// NCCL's profiler interface, version 6 (first in NCCL 2.29: copy-engine events).
#include "base/nccl_abi/profiler_v6.h"

#include "plugin/abi/profiler_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_profiler_v6_t make_table() {
  auto table = profiler_table<tw_nccl_profiler_v6_t, tw_nccl_profiler_event_v6_t>();
  table.init = guarded<profiler_init_v5>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_profiler_v6_t ncclProfiler_v6;
constinit const tw_nccl_profiler_v6_t ncclProfiler_v6 = thinwire::plugin::abi::make_table();
}
