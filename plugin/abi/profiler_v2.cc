// NCCL's profiler interface, version 2 (first in NCCL 2.24).
#include "base/nccl_abi/profiler_v2.h"

#include "plugin/abi/profiler_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_profiler_v2_t make_table() {
  auto table = profiler_table<tw_nccl_profiler_v2_t, tw_nccl_profiler_event_v2_t>();
  table.init = guarded<profiler_init_v1>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_profiler_v2_t ncclProfiler_v2;
constinit const tw_nccl_profiler_v2_t ncclProfiler_v2 = thinwire::plugin::abi::make_table();
}
