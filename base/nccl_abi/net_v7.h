/* NCCL's network interface, version 7 (first in 2.19): device offload handles. See calls.h. */
#pragma once

#include "base/nccl_abi/net_v6.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_nccl_net_properties_v7 {
  const char* name;
  const char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  tw_nccl_net_device_type_t netDeviceType;
  int netDeviceVersion;
} tw_nccl_net_properties_v7_t;

typedef tw_nccl_result_t (*tw_nccl_get_properties_v7_fn)(int dev,
                                                         tw_nccl_net_properties_v7_t* props);

typedef struct tw_nccl_net_v7 {
  const char* name;
  tw_nccl_init_v6_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v7_fn getProperties;
  tw_nccl_listen_v6_fn listen;
  tw_nccl_connect_v7_fn connect;
  tw_nccl_accept_v7_fn accept;
  tw_nccl_reg_mr_v6_fn regMr;
  tw_nccl_reg_mr_dma_buf_v6_fn regMrDmaBuf;
  tw_nccl_dereg_mr_v6_fn deregMr;
  tw_nccl_isend_v6_fn isend;
  tw_nccl_irecv_v6_fn irecv;
  tw_nccl_iflush_v6_fn iflush;
  tw_nccl_test_v6_fn test;
  tw_nccl_close_v6_fn closeSend;
  tw_nccl_close_v6_fn closeRecv;
  tw_nccl_close_v6_fn closeListen;
  tw_nccl_get_device_mr_v7_fn getDeviceMr;    /* may be null */
  tw_nccl_irecv_consumed_v7_fn irecvConsumed; /* may be null */
} tw_nccl_net_v7_t;

typedef struct tw_nccl_collnet_v7 {
  const char* name;
  tw_nccl_init_v6_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v7_fn getProperties;
  tw_nccl_listen_v6_fn listen;
  tw_nccl_coll_connect_v6_fn connect;
  tw_nccl_reduce_support_v6_fn reduceSupport;
  tw_nccl_reg_mr_v6_fn regMr;
  tw_nccl_reg_mr_dma_buf_v6_fn regMrDmaBuf;
  tw_nccl_dereg_mr_v6_fn deregMr;
  tw_nccl_iallreduce_v6_fn iallreduce;
  tw_nccl_coll_iflush_v6_fn iflush;
  tw_nccl_test_v6_fn test;
  tw_nccl_close_v6_fn closeColl;
  tw_nccl_close_v6_fn closeListen;
} tw_nccl_collnet_v7_t;

#ifdef __cplusplus
}
#endif
