// The version-neutral core behind the exported tables: what plugin/abi/ translates to.
//
// Implemented in core.cc (contexts, devices, counters), net_core.cc, coll_core.cc and
// profiler_core.cc. Called by NCCL's threads: init, service and progress thread may be in the core
// at once. Everything returns NCCL's result codes. Only memory exhaustion may throw; the
// guard in plugin/abi/guard.h turns that into core_threw(). Pointers given as void* are the
// core's own objects, handed back by NCCL. Out-parameters are written on success only, except
// *request, which is always written (null: refused, call again).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/nccl_abi/types.h"
#include "include/thinwire.h"
#include "plugin/profiler_events.h"

namespace thinwire::plugin {

enum class Table { net, collnet };

inline constexpr std::size_t kMaxDeviceMembers = 8;  // of a virtual device, in v12

// Of one device, the same through both tables. The strings live as long as the library.
struct Properties {
  const char* name;
  const char* pci_path;
  std::uint64_t guid;
  int ptr_support;
  bool reg_is_global;
  bool force_flush;
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_recvs;
  std::size_t max_p2p_bytes;
  std::size_t max_coll_bytes;
  std::int16_t rail_id;
  std::int16_t plane_id;
  int member_count;  // 0: not made of others
  std::array<int, kMaxDeviceMembers> members;
};

// One piece of a window, in order (a scatter-gather element).
struct Part {
  void* address;
  std::size_t bytes;
  void* mhandle;
};

// Hints from NCCL about the traffic to come; -1 (all bits set) where it does not know.
struct CommAttributes {
  std::int32_t max_concurrent_peers;
  std::int32_t min_concurrent_peers;
  std::int32_t max_flows_per_peer;
  std::int32_t min_flows_per_peer;
};
struct Attributes {
  CommAttributes send;
  CommAttributes receive;
  std::uint32_t op;
  std::uint32_t algo;
  std::uint32_t proto;
};

// `ctx` is null for v6 to v10, which have no per-communicator context: the default context, made
// by the first such call. traffic_class is -1 where the version or the user gives none.
tw_nccl_result_t core_init(Table table, void** ctx, std::uint64_t comm_id, int traffic_class,
                           tw_nccl_logger_t logger);
tw_nccl_result_t core_finalize(Table table, void* ctx);
tw_nccl_result_t core_devices(Table table, int* count);
tw_nccl_result_t core_properties(Table table, int dev, Properties* properties);
// One device of `count` others (2..limit), whose index *dev becomes. ncclInvalidUsage: it cannot
// be; NCCL then uses the others each by itself, unless the user asked for it
// (NCCL_NET_FORCE_MERGE).
tw_nccl_result_t core_make_vdevice(Table table, int count, const int* members, int limit, int* dev);

// Inside a handler of anything thrown: says what it was. Exhausted memory is ncclSystemError, all
// else ncclInternalError.
tw_nccl_result_t core_threw() noexcept;

// The sums that thinwireCounters_v1 reports; size and version are the caller's to set.
thinwire_counters_v1_t core_counters();

// Point-to-point. A null ctx is the default context. `handle` is 128 bytes.
tw_nccl_result_t net_listen(void* ctx, int dev, void* handle, void** listen_comm);
tw_nccl_result_t net_connect(void* ctx, int dev, void* handle, void** send_comm);
tw_nccl_result_t net_accept(void* listen_comm, void** recv_comm);
tw_nccl_result_t net_reg_mr(void* comm, void* data, std::size_t bytes, int kind, void** mhandle);
tw_nccl_result_t net_reg_mr_dmabuf(void* comm, void* data, std::size_t bytes, int kind,
                                   std::uint64_t offset, int fd, void** mhandle);
tw_nccl_result_t net_dereg_mr(void* comm, void* mhandle);
tw_nccl_result_t net_isend(void* comm, const void* data, std::size_t bytes, int tag, void* mhandle,
                           void** request);
tw_nccl_result_t net_irecv(void* comm, int n, void* const* data, const std::size_t* bytes,
                           const int* tags, void* const* mhandles, void** request);
tw_nccl_result_t net_iflush(void* comm, int n, void* const* data, const int* bytes,
                            void* const* mhandles, void** request);
tw_nccl_result_t net_test(void* request, int* done, int* sizes);
tw_nccl_result_t net_close_send(void* comm);
tw_nccl_result_t net_close_recv(void* comm);
tw_nccl_result_t net_close_listen(void* comm);
tw_nccl_result_t net_set_attributes(void* ctx, const Attributes& attributes);

// Collectives. coll_connect blocks, bounded by THINWIRE_CONNECT_TIMEOUT_S.
tw_nccl_result_t coll_listen(void* ctx, int dev, void* handle, void** listen_comm);
tw_nccl_result_t coll_connect(void** handles, int nranks, int rank, void* listen_comm,
                              void** coll_comm);
tw_nccl_result_t coll_reduce_support(int type, int op, int* supported);
tw_nccl_result_t coll_reg_mr(void* comm, void* data, std::size_t bytes, int kind, void** mhandle);
tw_nccl_result_t coll_reg_mr_dmabuf(void* comm, void* data, std::size_t bytes, int kind,
                                    std::uint64_t offset, int fd, void** mhandle);
tw_nccl_result_t coll_dereg_mr(void* comm, void* mhandle);
tw_nccl_result_t coll_iallreduce(void* comm, const void* send, void* recv, std::size_t count,
                                 int type, int op, void* send_mhandle, void* recv_mhandle,
                                 void** request);
tw_nccl_result_t coll_iallgather(void* comm, const void* send, int nparts, const Part* parts,
                                 std::size_t bytes_per_rank, std::size_t window_offset,
                                 std::size_t window_bytes, void* send_mhandle, void** request);
tw_nccl_result_t coll_ireducescatter(void* comm, int nparts, const Part* parts, void* recv,
                                     std::size_t bytes_per_rank, std::size_t window_offset,
                                     std::size_t window_bytes, int type, int op, void* recv_mhandle,
                                     void** request);
tw_nccl_result_t coll_iflush(void* comm, void* data, std::size_t bytes, void* mhandle,
                             void** request);
tw_nccl_result_t coll_test(void* request, int* done, int* size);
tw_nccl_result_t coll_close(void* comm);
tw_nccl_result_t coll_close_listen(void* comm);

// Profiler, see profiler.h. *mask: the kinds of events wanted, 0 where identity is not. The start
// of an event writes *handle; what is not asked for starts as an indifferent one.
tw_nccl_result_t profiler_init(void** ctx, int* mask, const CommunicatorInfo& comm);
tw_nccl_result_t profiler_finalize(void* ctx);
tw_nccl_result_t profiler_start_collective(void* ctx, void** handle, const CollectiveEvent& event);
tw_nccl_result_t profiler_start_part(void* ctx, void** handle, const ProxyOpEvent& event);
tw_nccl_result_t profiler_start_other(void** handle);

}  // namespace thinwire::plugin
