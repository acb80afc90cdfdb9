// NCCL's profiler interface, version 4 (first in NCCL 2.27: init names the communicator).
#include "base/nccl_abi/profiler_v4.h"

#include "plugin/abi/profiler_calls.h"

namespace thinwire::plugin::abi {
namespace {

constexpr tw_nccl_profiler_v4_t make_table() {
  auto table = profiler_table<tw_nccl_profiler_v4_t, tw_nccl_profiler_event_v4_t>();
  table.init = guarded<profiler_init_v4>;
  return table;
}

}  // namespace
}  // namespace thinwire::plugin::abi

extern "C" {
[[gnu::visibility("default")]] extern const tw_nccl_profiler_v4_t ncclProfiler_v4;
constinit const tw_nccl_profiler_v4_t ncclProfiler_v4 = thinwire::plugin::abi::make_table();
}
