/* NCCL's network interface, version 11 (first in 2.28): a context per communicator, finalize,
 * attributes of the traffic. See calls.h. */
#pragma once

#include "base/nccl_abi/net_v10.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef tw_nccl_net_vdevice_props_v9_t tw_nccl_net_vdevice_props_v11_t;
typedef tw_nccl_net_comm_config_v10_t tw_nccl_net_comm_config_v11_t;
typedef tw_nccl_net_sge_v9_t tw_nccl_net_sge_v11_t;

typedef struct tw_nccl_net_properties_v11 {
  const char* name;
  const char* pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  tw_nccl_net_device_type_t netDeviceType;
  int netDeviceVersion;
  tw_nccl_net_vdevice_props_v9_t vProps;
  size_t maxP2pBytes;
  size_t maxCollBytes;
  int maxMultiRequestSize;
} tw_nccl_net_properties_v11_t;

/* Hints; tw_nccl_undefined in every field that NCCL does not know. */
typedef struct tw_nccl_net_comm_attr_v11 {
  int32_t maxConcurrentPeers;
  int32_t minConcurrentPeers;
  int32_t maxFlowsPerPeer;
  int32_t minFlowsPerPeer;
} tw_nccl_net_comm_attr_v11_t;

typedef struct tw_nccl_net_attr_v11 {
  tw_nccl_net_comm_attr_v11_t sendCommAttr;
  tw_nccl_net_comm_attr_v11_t recvCommAttr;
  uint32_t op;
  uint32_t algo;
  uint32_t proto;
} tw_nccl_net_attr_v11_t;

typedef tw_nccl_result_t (*tw_nccl_net_init_v11_fn)(void** ctx, uint64_t commId,
                                                    tw_nccl_net_comm_config_v10_t* config,
                                                    tw_nccl_logger_t logFunction,
                                                    tw_nccl_profiler_callback_t profFunction);
typedef tw_nccl_result_t (*tw_nccl_get_properties_v11_fn)(int dev,
                                                          tw_nccl_net_properties_v11_t* props);
typedef tw_nccl_result_t (*tw_nccl_set_net_attr_v11_fn)(void* ctx, tw_nccl_net_attr_v11_t* netAttr);

typedef struct tw_nccl_net_v11 {
  const char* name;
  tw_nccl_net_init_v11_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v11_fn getProperties;
  tw_nccl_listen_v11_fn listen;
  tw_nccl_connect_v11_fn connect;
  tw_nccl_accept_v7_fn accept;
  tw_nccl_reg_mr_v8_fn regMr;
  tw_nccl_reg_mr_dma_buf_v6_fn regMrDmaBuf;
  tw_nccl_dereg_mr_v6_fn deregMr;
  tw_nccl_isend_v10_fn isend;
  tw_nccl_irecv_v10_fn irecv;
  tw_nccl_iflush_v6_fn iflush;
  tw_nccl_test_v6_fn test;
  tw_nccl_close_v6_fn closeSend;
  tw_nccl_close_v6_fn closeRecv;
  tw_nccl_close_v6_fn closeListen;
  tw_nccl_get_device_mr_v7_fn getDeviceMr;
  tw_nccl_irecv_consumed_v7_fn irecvConsumed;
  tw_nccl_make_vdevice_v9_fn makeVDevice;
  tw_nccl_finalize_v11_fn finalize;
  tw_nccl_set_net_attr_v11_fn setNetAttr; /* may be null */
} tw_nccl_net_v11_t;

typedef struct tw_nccl_collnet_v11 {
  const char* name;
  tw_nccl_collnet_init_v11_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v11_fn getProperties;
  tw_nccl_listen_v11_fn listen;
  tw_nccl_coll_connect_v6_fn connect;
  tw_nccl_reduce_support_v6_fn reduceSupport;
  tw_nccl_reg_mr_v8_fn regMr;
  tw_nccl_reg_mr_dma_buf_v6_fn regMrDmaBuf;
  tw_nccl_dereg_mr_v6_fn deregMr;
  tw_nccl_iallreduce_v9_fn iallreduce;
  tw_nccl_iallgather_v9_fn iallgather;
  tw_nccl_ireducescatter_v9_fn ireducescatter;
  tw_nccl_coll_iflush_v6_fn iflush;
  tw_nccl_test_v6_fn test;
  tw_nccl_close_v6_fn closeColl;
  tw_nccl_close_v6_fn closeListen;
  tw_nccl_make_vdevice_v9_fn makeVDevice;
  tw_nccl_finalize_v11_fn finalize;
} tw_nccl_collnet_v11_t;

#ifdef __cplusplus
}
#endif
