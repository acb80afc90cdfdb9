/* NCCL's network interface, version 12 (first in 2.30): rails and planes, up to 8 devices in a
 * virtual one. See calls.h. */
#pragma once

#include "base/nccl_abi/net_v11.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef tw_nccl_net_comm_config_v10_t tw_nccl_net_comm_config_v12_t;
typedef tw_nccl_net_comm_attr_v11_t tw_nccl_net_comm_attr_v12_t;
typedef tw_nccl_net_attr_v11_t tw_nccl_net_attr_v12_t;
typedef tw_nccl_net_sge_v9_t tw_nccl_net_sge_v12_t;

enum { tw_nccl_max_devs_per_nic_v12 = 8 };

typedef struct tw_nccl_net_vdevice_props_v12 {
  int ndevs;
  int devs[tw_nccl_max_devs_per_nic_v12];
} tw_nccl_net_vdevice_props_v12_t;

typedef struct tw_nccl_net_properties_v12 {
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
  tw_nccl_net_vdevice_props_v12_t vProps;
  size_t maxP2pBytes;
  size_t maxCollBytes;
  int maxMultiRequestSize;
  int16_t railId; /* tw_nccl_undefined where unknown */
  int16_t planeId;
} tw_nccl_net_properties_v12_t;

typedef tw_nccl_result_t (*tw_nccl_get_properties_v12_fn)(int dev,
                                                          tw_nccl_net_properties_v12_t* props);
typedef tw_nccl_result_t (*tw_nccl_make_vdevice_v12_fn)(int* d,
                                                        tw_nccl_net_vdevice_props_v12_t* props);

typedef struct tw_nccl_net_v12 {
  const char* name;
  tw_nccl_net_init_v11_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v12_fn getProperties;
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
  tw_nccl_make_vdevice_v12_fn makeVDevice;
  tw_nccl_finalize_v11_fn finalize;
  tw_nccl_set_net_attr_v11_fn setNetAttr;
} tw_nccl_net_v12_t;

typedef struct tw_nccl_collnet_v12 {
  const char* name;
  tw_nccl_collnet_init_v11_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v12_fn getProperties;
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
  tw_nccl_make_vdevice_v12_fn makeVDevice;
  tw_nccl_finalize_v11_fn finalize;
} tw_nccl_collnet_v12_t;

#ifdef __cplusplus
}
#endif
