/* NCCL's network interface, version 6 (NCCL <= 2.17): net and CollNet tables. See calls.h. */
#pragma once

#include "base/nccl_abi/calls.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_nccl_net_properties_v6 {
  const char* name;
  const char* pciPath; /* real path below /sys/devices */
  uint64_t guid;
  int ptrSupport; /* mask of tw_nccl_ptr_* */
  int speed;      /* Mbit/s */
  int port;
  float latency; /* us */
  int maxComms;
  int maxRecvs; /* buffers in one irecv */
} tw_nccl_net_properties_v6_t;

typedef tw_nccl_result_t (*tw_nccl_get_properties_v6_fn)(int dev,
                                                         tw_nccl_net_properties_v6_t* props);

typedef struct tw_nccl_net_v6 {
  const char* name;
  tw_nccl_init_v6_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v6_fn getProperties;
  tw_nccl_listen_v6_fn listen;
  tw_nccl_connect_v6_fn connect;
  tw_nccl_accept_v6_fn accept;
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
} tw_nccl_net_v6_t;

typedef struct tw_nccl_collnet_v6 {
  const char* name;
  tw_nccl_init_v6_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v6_fn getProperties;
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
} tw_nccl_collnet_v6_t;

#ifdef __cplusplus
}
#endif
