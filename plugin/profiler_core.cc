// The profiler_ functions of core.h.
#include "base/nccl_abi/profiler.h"
#include "plugin/core.h"
#include "plugin/engine_options.h"
#include "plugin/process.h"

namespace thinwire::plugin {

namespace {

tw_nccl_result_t give_handle(void* started, void** handle) {
  if (handle != nullptr) *handle = started;
  return tw_nccl_success;
}

}  // namespace

// NCCL initialises a communicator's network before its profiler: without a Plugin it uses another
// network, and every event would cost it time for nothing.
tw_nccl_result_t profiler_init(void** ctx, int* mask, const CommunicatorInfo& comm) {
  if (ctx == nullptr || mask == nullptr) return tw_nccl_internal_error;
  const Plugin* plugin = process().plugin();
  const bool wanted = plugin != nullptr && wants_identity(plugin->config());
  *mask = wanted ? tw_nccl_profile_coll | tw_nccl_profile_proxy_op : 0;
  *ctx = wanted ? process().profiler().open(comm) : nullptr;
  return tw_nccl_success;
}

tw_nccl_result_t profiler_finalize(void* ctx) {
  const bool closed = ctx == nullptr || process().profiler().close(ctx);
  return closed ? tw_nccl_success : tw_nccl_internal_error;
}

tw_nccl_result_t profiler_start_collective(void* ctx, void** handle, const CollectiveEvent& event) {
  return give_handle(process().profiler().start_collective(ctx, event), handle);
}

// A null handle spares NCCL the calls that follow a part.
tw_nccl_result_t profiler_start_part(void* ctx, void** handle, const ProxyOpEvent& event) {
  process().profiler().start_part(ctx, event);
  return give_handle(nullptr, handle);
}

tw_nccl_result_t profiler_start_other(void** handle) {
  return give_handle(Profiler::indifferent(), handle);
}

}  // namespace thinwire::plugin
