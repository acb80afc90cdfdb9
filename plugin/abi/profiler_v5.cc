// NCCL's profiler interface, version 5 (first in NCCL 2.28: API events).
#include "base/nccl_abi/profiler_v5.h"

#include "plugin/abi/profiler_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_profiler_v5_t make_table() {
  auto table = profiler_table<tw_nccl_profiler_v5_t, tw_nccl_profiler_event_v5_t>();
  table.init = guarded<profiler_init_v5>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_profiler_v5_t ncclProfiler_v5;
constinit const tw_nccl_profiler_v5_t ncclProfiler_v5 = thinwire::plugin::abi::make_table();
}
