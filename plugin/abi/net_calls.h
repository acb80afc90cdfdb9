// Point-to-point translations shared by net_v6.cc .. net_v12.cc. Each function is named after the
// interface version that brought its signature; a table uses the newest that is not above it.
// Called by NCCL's service and progress threads, through guarded<>.
#pragma once

#include <array>

#include "plugin/abi/common.h"

namespace thinwire::plugin::abi {

inline constexpr int kMaxReceives = 8;  // what properties announce as maxRecvs at most

inline tw_nccl_result_t net_init_v10(tw_nccl_logger_t logger, tw_nccl_profiler_callback_t) {
  return init_v6<Table::net>(logger);
}

inline tw_nccl_result_t net_init_v11(void** ctx, std::uint64_t comm_id,
                                     tw_nccl_net_comm_config_v10_t* config, tw_nccl_logger_t logger,
                                     tw_nccl_profiler_callback_t) {
  const int traffic_class = config != nullptr ? config->trafficClass : tw_nccl_undefined;
  return core_init(Table::net, ctx, comm_id, traffic_class, logger);
}

inline tw_nccl_result_t net_listen_v6(int dev, void* handle, void** listen_comm) {
  return net_listen(nullptr, dev, handle, listen_comm);
}

inline tw_nccl_result_t net_connect_v6(int dev, void* handle, void** send_comm) {
  return net_connect(nullptr, dev, handle, send_comm);
}

// A null *device_comm tells NCCL that there is no offload.
inline tw_nccl_result_t net_connect_v11(void* ctx, int dev, void* handle, void** send_comm,
                                        tw_nccl_net_device_handle_t** device_comm) {
  if (device_comm != nullptr) *device_comm = nullptr;
  return net_connect(ctx, dev, handle, send_comm);
}

inline tw_nccl_result_t net_connect_v7(int dev, void* handle, void** send_comm,
                                       tw_nccl_net_device_handle_t** device_comm) {
  return net_connect_v11(nullptr, dev, handle, send_comm, device_comm);
}

// Only v10 gives the traffic class per connection; the default context keeps the user's setting.
inline tw_nccl_result_t net_connect_v10(int dev, tw_nccl_net_comm_config_v10_t*, void* handle,
                                        void** send_comm,
                                        tw_nccl_net_device_handle_t** device_comm) {
  return net_connect_v11(nullptr, dev, handle, send_comm, device_comm);
}

inline tw_nccl_result_t net_accept_v7(void* listen_comm, void** recv_comm,
                                      tw_nccl_net_device_handle_t** device_comm) {
  if (device_comm != nullptr) *device_comm = nullptr;
  return net_accept(listen_comm, recv_comm);
}

inline tw_nccl_result_t net_isend_v9(void* comm, void* data, std::size_t bytes, int tag,
                                     void* mhandle, void** request) {
  return net_isend(comm, data, bytes, tag, mhandle, request);
}

inline tw_nccl_result_t net_isend_v6(void* comm, void* data, int bytes, int tag, void* mhandle,
                                     void** request) {
  if (!is_size(bytes)) return refuse(request);
  return net_isend(comm, data, static_cast<std::size_t>(bytes), tag, mhandle, request);
}

inline tw_nccl_result_t net_isend_v10(void* comm, void* data, std::size_t bytes, int tag,
                                      void* mhandle, void* /*phandle*/, void** request) {
  return net_isend(comm, data, bytes, tag, mhandle, request);
}

inline tw_nccl_result_t net_irecv_v9(void* comm, int n, void** data, std::size_t* bytes, int* tags,
                                     void** mhandles, void** request) {
  return net_irecv(comm, n, data, bytes, tags, mhandles, request);
}

inline tw_nccl_result_t net_irecv_v6(void* comm, int n, void** data, int* bytes, int* tags,
                                     void** mhandles, void** request) {
  std::array<std::size_t, kMaxReceives> wide{};
  if (n < 0 || n > kMaxReceives) return refuse(request);
  for (int i = 0; i < n; ++i) {
    if (!is_size(bytes[i])) return refuse(request);
    wide[static_cast<std::size_t>(i)] = static_cast<std::size_t>(bytes[i]);
  }
  return net_irecv(comm, n, data, wide.data(), tags, mhandles, request);
}

inline tw_nccl_result_t net_irecv_v10(void* comm, int n, void** data, std::size_t* bytes, int* tags,
                                      void** mhandles, void** /*phandles*/, void** request) {
  return net_irecv(comm, n, data, bytes, tags, mhandles, request);
}

inline tw_nccl_result_t net_iflush_v6(void* comm, int n, void** data, int* bytes, void** mhandles,
                                      void** request) {
  return net_iflush(comm, n, data, bytes, mhandles, request);
}

inline tw_nccl_result_t net_set_attr_v11(void* ctx, tw_nccl_net_attr_v11_t* attributes) {
  const auto neutral = [](const tw_nccl_net_comm_attr_v11_t& side) {
    return CommAttributes{side.maxConcurrentPeers, side.minConcurrentPeers, side.maxFlowsPerPeer,
                          side.minFlowsPerPeer};
  };
  return net_set_attributes(ctx, {.send = neutral(attributes->sendCommAttr),
                                  .receive = neutral(attributes->recvCommAttr),
                                  .op = attributes->op,
                                  .algo = attributes->algo,
                                  .proto = attributes->proto});
}

// The entries that are the same in every version; the version's file sets the others. Device
// offload stays null.
template <class Net, class NetProperties>
constexpr Net net_table() {
  Net table{};
  table.name = kName;
  table.devices = guarded<devices<Table::net>>;
  table.getProperties = guarded<get_properties<Table::net, NetProperties>>;
  table.regMrDmaBuf = guarded<net_reg_mr_dmabuf>;
  table.deregMr = guarded<net_dereg_mr>;
  table.iflush = guarded<net_iflush_v6>;
  table.test = guarded<net_test>;
  table.closeSend = guarded<net_close_send>;
  table.closeRecv = guarded<net_close_recv>;
  table.closeListen = guarded<net_close_listen>;
  offer_merging<Table::net, Net, NetProperties>(table);
  return table;
}

}  // namespace thinwire::plugin::abi
