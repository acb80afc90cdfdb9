/* NCCL's network interface, version 8 (first in 2.20): size_t registration, all-gather and
 * reduce-scatter in CollNet. See calls.h. */
#pragma once

#include "base/nccl_abi/net_v7.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_nccl_net_properties_v8 {
  const char* name;
  const char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal; /* a registration serves every comm */
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  tw_nccl_net_device_type_t netDeviceType;
  int netDeviceVersion;
} tw_nccl_net_properties_v8_t;

typedef tw_nccl_result_t (*tw_nccl_get_properties_v8_fn)(int dev,
                                                         tw_nccl_net_properties_v8_t* props);

typedef struct tw_nccl_net_v8 {
  const char* name;
  tw_nccl_init_v6_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v8_fn getProperties;
  tw_nccl_listen_v6_fn listen;
  tw_nccl_connect_v7_fn connect;
  tw_nccl_accept_v7_fn accept;
  tw_nccl_reg_mr_v8_fn regMr;
  tw_nccl_reg_mr_dma_buf_v6_fn regMrDmaBuf;
  tw_nccl_dereg_mr_v6_fn deregMr;
  tw_nccl_isend_v6_fn isend;
  tw_nccl_irecv_v6_fn irecv;
  tw_nccl_iflush_v6_fn iflush;
  tw_nccl_test_v6_fn test;
  tw_nccl_close_v6_fn closeSend;
  tw_nccl_close_v6_fn closeRecv;
  tw_nccl_close_v6_fn closeListen;
  tw_nccl_get_device_mr_v7_fn getDeviceMr;
  tw_nccl_irecv_consumed_v7_fn irecvConsumed;
} tw_nccl_net_v8_t;

typedef struct tw_nccl_net_sge_v8 {
  void* mhandle;
  void* address;
  uint32_t size;
} tw_nccl_net_sge_v8_t;

typedef tw_nccl_result_t (*tw_nccl_iallgather_v8_fn)(void* collComm, void* sendData, int nRecvParts,
                                                     tw_nccl_net_sge_v8_t* recvParts,
                                                     size_t bytesPerRank, size_t windowOffset,
                                                     size_t windowBytes, void* sendMhandle,
                                                     void** request);
typedef tw_nccl_result_t (*tw_nccl_ireducescatter_v8_fn)(
    void* collComm, int nSendParts, tw_nccl_net_sge_v8_t* sendParts, void* recvData,
    size_t bytesPerRank, size_t windowOffset, size_t windowBytes, tw_nccl_data_type_t dataType,
    tw_nccl_op_t redOp, void* recvMhandle, void** request);

typedef struct tw_nccl_collnet_v8 {
  const char* name;
  tw_nccl_init_v6_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v8_fn getProperties;
  tw_nccl_listen_v6_fn listen;
  tw_nccl_coll_connect_v6_fn connect;
  tw_nccl_reduce_support_v6_fn reduceSupport;
  tw_nccl_reg_mr_v8_fn regMr;
  tw_nccl_reg_mr_dma_buf_v6_fn regMrDmaBuf;
  tw_nccl_dereg_mr_v6_fn deregMr;
  tw_nccl_iallreduce_v6_fn iallreduce;
  tw_nccl_iallgather_v8_fn iallgather;
  tw_nccl_ireducescatter_v8_fn ireducescatter;
  tw_nccl_coll_iflush_v6_fn iflush;
  tw_nccl_test_v6_fn test;
  tw_nccl_close_v6_fn closeColl;
  tw_nccl_close_v6_fn closeListen;
} tw_nccl_collnet_v8_t;

#ifdef __cplusplus
}
#endif
