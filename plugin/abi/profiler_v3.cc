// NCCL's profiler interface, version 3 (first in NCCL 2.26).
#include "base/nccl_abi/profiler_v3.h"

#include "plugin/abi/profiler_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_profiler_v3_t make_table() {
  auto table = profiler_table<tw_nccl_profiler_v3_t, tw_nccl_profiler_event_v3_t>();
  table.init = guarded<profiler_init_v1>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_profiler_v3_t ncclProfiler_v3;
constinit const tw_nccl_profiler_v3_t ncclProfiler_v3 = thinwire::plugin::abi::make_table();
}
