// CollNet translations shared by collnet_v6.cc .. collnet_v12.cc. Each function is named after the
// interface version that brought its signature; a table uses the newest that is not above it.
// Called by NCCL's service and progress threads, through guarded<>.
#pragma once

#include <array>

#include "plugin/abi/common.h"

namespace thinwire::plugin::abi {

// NCCL uses one part today; its newest shims refuse more for old tables.
inline constexpr int kMaxParts = 64;
using Parts = std::array<Part, kMaxParts>;

// False where there are more parts than fit.
template <class Sge>
bool translate_parts(int count, const Sge* source, Parts* target) {
  if (count < 0 || count > kMaxParts) return false;
  for (int i = 0; i < count; ++i) {
    (*target)[static_cast<std::size_t>(i)] = {source[i].address, source[i].size, source[i].mhandle};
  }
  return true;
}

inline tw_nccl_result_t coll_init_v11(void** ctx, std::uint64_t comm_id, tw_nccl_logger_t logger) {
  return core_init(Table::collnet, ctx, comm_id, tw_nccl_undefined, logger);
}

inline tw_nccl_result_t coll_listen_v6(int dev, void* handle, void** listen_comm) {
  return coll_listen(nullptr, dev, handle, listen_comm);
}

inline tw_nccl_result_t coll_iallreduce_v9(void* comm, void* send, void* recv, std::size_t count,
                                           tw_nccl_data_type_t type, tw_nccl_op_t op,
                                           void* send_mhandle, void* recv_mhandle, void** request) {
  return coll_iallreduce(comm, send, recv, count, type, op, send_mhandle, recv_mhandle, request);
}

inline tw_nccl_result_t coll_iallreduce_v6(void* comm, void* send, void* recv, int count,
                                           tw_nccl_data_type_t type, tw_nccl_op_t op,
                                           void* send_mhandle, void* recv_mhandle, void** request) {
  if (!is_size(count)) return refuse(request);
  return coll_iallreduce(comm, send, recv, static_cast<std::size_t>(count), type, op, send_mhandle,
                         recv_mhandle, request);
}

template <class Sge>
tw_nccl_result_t coll_iallgather_parts(void* comm, void* send, int part_count, Sge* recv_parts,
                                       std::size_t bytes_per_rank, std::size_t window_offset,
                                       std::size_t window_bytes, void* send_mhandle,
                                       void** request) {
  Parts parts;
  if (!translate_parts(part_count, recv_parts, &parts)) return refuse(request);
  return coll_iallgather(comm, send, part_count, parts.data(), bytes_per_rank, window_offset,
                         window_bytes, send_mhandle, request);
}

template <class Sge>
tw_nccl_result_t coll_ireducescatter_parts(void* comm, int part_count, Sge* send_parts, void* recv,
                                           std::size_t bytes_per_rank, std::size_t window_offset,
                                           std::size_t window_bytes, tw_nccl_data_type_t type,
                                           tw_nccl_op_t op, void* recv_mhandle, void** request) {
  Parts parts;
  if (!translate_parts(part_count, send_parts, &parts)) return refuse(request);
  return coll_ireducescatter(comm, part_count, parts.data(), recv, bytes_per_rank, window_offset,
                             window_bytes, type, op, recv_mhandle, request);
}

inline tw_nccl_result_t coll_iflush_v6(void* comm, void* data, int bytes, void* mhandle,
                                       void** request) {
  if (!is_size(bytes)) return refuse(request);
  return coll_iflush(comm, data, static_cast<std::size_t>(bytes), mhandle, request);
}

// The entries that are the same in every version; the version's file sets the others.
template <class CollNet, class NetProperties>
constexpr CollNet collnet_table() {
  CollNet table{};
  table.name = kName;
  table.devices = guarded<devices<Table::collnet>>;
  table.getProperties = guarded<get_properties<Table::collnet, NetProperties>>;
  table.connect = guarded<coll_connect>;
  table.reduceSupport = guarded<coll_reduce_support>;
  table.regMrDmaBuf = guarded<coll_reg_mr_dmabuf>;
  table.deregMr = guarded<coll_dereg_mr>;
  table.iflush = guarded<coll_iflush_v6>;
  table.test = guarded<coll_test>;
  table.closeColl = guarded<coll_close>;
  table.closeListen = guarded<coll_close_listen>;
  offer_merging<Table::collnet, CollNet, NetProperties>(table);
  return table;
}

}  // namespace thinwire::plugin::abi
