#include "tests/abi/fake_core.h"

#include <new>

namespace thinwire::plugin {
namespace fake {

Core& core() {
  static Core instance;
  return instance;
}

void reset() { core() = Core{}; }

namespace {

tw_nccl_result_t record(Call call) {
  if (core().throws) throw std::bad_alloc();
  core().last = std::move(call);
  return tw_nccl_success;
}

Call parts_call(const char* name, void* comm, int count, const Part* parts) {
  Call call{.name = name, .context = comm, .count = count};
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    call.bytes[at] = parts[i].bytes;
    call.addresses[at] = parts[i].address;
    call.mhandles[at] = parts[i].mhandle;
  }
  return call;
}

}  // namespace
}  // namespace fake

using fake::record;

tw_nccl_result_t core_init(Table table, void** ctx, std::uint64_t comm_id, int traffic_class,
                           tw_nccl_logger_t) {
  return record({.name = table == Table::net ? "init net" : "init collnet",
                 .context = ctx,
                 .traffic_class = traffic_class,
                 .comm_id = comm_id});
}
tw_nccl_result_t core_finalize(Table table, void* ctx) {
  return record(
      {.name = table == Table::net ? "finalize net" : "finalize collnet", .context = ctx});
}
tw_nccl_result_t core_devices(Table table, int* count) {
  *count = 3;
  return record({.name = table == Table::net ? "devices net" : "devices collnet"});
}
tw_nccl_result_t core_properties(Table, int dev, Properties* properties) {
  *properties = fake::core().properties;
  return record({.name = "properties", .count = dev});
}
tw_nccl_result_t core_threw() noexcept { return tw_nccl_system_error; }
tw_nccl_result_t core_make_vdevice(Table table, int count, const int* members, int limit,
                                   int* dev) {
  fake::Call call{.name = table == Table::net ? "merge net" : "merge collnet",
                  .count = count,
                  .traffic_class = limit};
  for (int i = 0; i < count; ++i) {
    call.bytes[static_cast<std::size_t>(i)] = static_cast<std::size_t>(members[i]);
  }
  *dev = 12;
  return record(std::move(call));
}
thinwire_counters_v1_t core_counters() {
  if (fake::core().throws) throw std::bad_alloc();
  return fake::core().counters;
}

tw_nccl_result_t net_listen(void* ctx, int, void*, void**) {
  return record({.name = "net_listen", .context = ctx});
}
tw_nccl_result_t net_connect(void* ctx, int, void*, void**) {
  return record({.name = "net_connect", .context = ctx});
}
tw_nccl_result_t net_accept(void* comm, void**) {
  return record({.name = "net_accept", .context = comm});
}
tw_nccl_result_t net_reg_mr(void* comm, void*, std::size_t bytes, int, void**) {
  return record({.name = "net_reg_mr", .context = comm, .bytes = {bytes}});
}
tw_nccl_result_t net_reg_mr_dmabuf(void* comm, void*, std::size_t bytes, int, std::uint64_t, int,
                                   void**) {
  return record({.name = "net_reg_mr_dmabuf", .context = comm, .bytes = {bytes}});
}
tw_nccl_result_t net_dereg_mr(void* comm, void* mhandle) {
  return record({.name = "net_dereg_mr", .context = comm, .mhandles = {mhandle}});
}
tw_nccl_result_t net_isend(void* comm, const void*, std::size_t bytes, int, void* mhandle, void**) {
  return record({.name = "net_isend", .context = comm, .bytes = {bytes}, .mhandles = {mhandle}});
}
tw_nccl_result_t net_irecv(void* comm, int n, void* const* data, const std::size_t* bytes,
                           const int*, void* const* mhandles, void**) {
  fake::Call call{.name = "net_irecv", .context = comm, .count = n};
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    call.addresses[at] = data[i];
    call.bytes[at] = bytes[i];
    call.mhandles[at] = mhandles[i];
  }
  return record(std::move(call));
}
tw_nccl_result_t net_iflush(void* comm, int n, void* const*, const int*, void* const*, void**) {
  return record({.name = "net_iflush", .context = comm, .count = n});
}
tw_nccl_result_t net_test(void* request, int*, int*) {
  return record({.name = "net_test", .context = request});
}
tw_nccl_result_t net_close_send(void* comm) {
  return record({.name = "net_close_send", .context = comm});
}
tw_nccl_result_t net_close_recv(void* comm) {
  return record({.name = "net_close_recv", .context = comm});
}
tw_nccl_result_t net_close_listen(void* comm) {
  return record({.name = "net_close_listen", .context = comm});
}
tw_nccl_result_t net_set_attributes(void* ctx, const Attributes& attributes) {
  return record({.name = "net_set_attributes", .context = ctx, .attributes = attributes});
}

tw_nccl_result_t coll_listen(void* ctx, int, void*, void**) {
  return record({.name = "coll_listen", .context = ctx});
}
tw_nccl_result_t coll_connect(void**, int nranks, int, void* listen_comm, void**) {
  return record({.name = "coll_connect", .context = listen_comm, .count = nranks});
}
tw_nccl_result_t coll_reduce_support(int, int, int* supported) {
  *supported = 1;
  return record({.name = "coll_reduce_support"});
}
tw_nccl_result_t coll_reg_mr(void* comm, void*, std::size_t bytes, int, void**) {
  return record({.name = "coll_reg_mr", .context = comm, .bytes = {bytes}});
}
tw_nccl_result_t coll_reg_mr_dmabuf(void* comm, void*, std::size_t bytes, int, std::uint64_t, int,
                                    void**) {
  return record({.name = "coll_reg_mr_dmabuf", .context = comm, .bytes = {bytes}});
}
tw_nccl_result_t coll_dereg_mr(void* comm, void* mhandle) {
  return record({.name = "coll_dereg_mr", .context = comm, .mhandles = {mhandle}});
}
tw_nccl_result_t coll_iallreduce(void* comm, const void*, void* recv, std::size_t count, int, int,
                                 void*, void*, void**) {
  return record(
      {.name = "coll_iallreduce", .context = comm, .bytes = {count}, .addresses = {recv}});
}
tw_nccl_result_t coll_iallgather(void* comm, const void*, int nparts, const Part* parts,
                                 std::size_t, std::size_t, std::size_t, void*, void**) {
  return record(fake::parts_call("coll_iallgather", comm, nparts, parts));
}
tw_nccl_result_t coll_ireducescatter(void* comm, int nparts, const Part* parts, void*, std::size_t,
                                     std::size_t, std::size_t, int, int, void*, void**) {
  return record(fake::parts_call("coll_ireducescatter", comm, nparts, parts));
}
tw_nccl_result_t coll_iflush(void* comm, void*, std::size_t bytes, void*, void**) {
  return record({.name = "coll_iflush", .context = comm, .bytes = {bytes}});
}
tw_nccl_result_t coll_test(void* request, int*, int*) {
  return record({.name = "coll_test", .context = request});
}
tw_nccl_result_t coll_close(void* comm) { return record({.name = "coll_close", .context = comm}); }
tw_nccl_result_t coll_close_listen(void* comm) {
  return record({.name = "coll_close_listen", .context = comm});
}

tw_nccl_result_t profiler_init(void** ctx, int* mask, const CommunicatorInfo& comm) {
  *mask = 10;
  return record({.name = "profiler_init", .context = ctx, .comm = comm});
}
tw_nccl_result_t profiler_finalize(void* ctx) {
  return record({.name = "profiler_finalize", .context = ctx});
}
tw_nccl_result_t profiler_start_collective(void* ctx, void**, const CollectiveEvent& event) {
  return record({.name = "profiler_start_collective", .context = ctx, .collective = event});
}
tw_nccl_result_t profiler_start_part(void* ctx, void**, const ProxyOpEvent& event) {
  return record({.name = "profiler_start_part", .context = ctx, .part = event});
}
tw_nccl_result_t profiler_start_other(void**) { return record({.name = "profiler_start_other"}); }

}  // namespace thinwire::plugin
