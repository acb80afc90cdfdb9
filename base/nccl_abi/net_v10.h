/* NCCL's network interface, version 10 (first in 2.26): profiler handles, a configuration per
 * connection. CollNet and the properties are those of version 9. See calls.h. */
#pragma once

#include "base/nccl_abi/net_v9.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef tw_nccl_net_vdevice_props_v9_t tw_nccl_net_vdevice_props_v10_t;
typedef tw_nccl_net_properties_v9_t tw_nccl_net_properties_v10_t;
typedef tw_nccl_net_sge_v9_t tw_nccl_net_sge_v10_t;
typedef tw_nccl_collnet_v9_t tw_nccl_collnet_v10_t;

typedef struct tw_nccl_net_comm_config_v10 {
  int trafficClass; /* tw_nccl_undefined where the user sets none */
} tw_nccl_net_comm_config_v10_t;

typedef tw_nccl_result_t (*tw_nccl_connect_v10_fn)(int dev, tw_nccl_net_comm_config_v10_t* config,
                                                   void* handle, void** sendComm,
                                                   tw_nccl_net_device_handle_t** sendDevComm);

typedef struct tw_nccl_net_v10 {
  const char* name;
  tw_nccl_net_init_v10_fn init;
  tw_nccl_devices_v6_fn devices;
  tw_nccl_get_properties_v9_fn getProperties;
  tw_nccl_listen_v6_fn listen;
  tw_nccl_connect_v10_fn connect;
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
} tw_nccl_net_v10_t;

#ifdef __cplusplus
}
#endif
