/* NCCL's profiler interface, version 5 (first in 2.28: API calls and launches, a wider type). See
 * profiler.h. */
#pragma once

#include "base/nccl_abi/profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_nccl_profiler_group_api_v5 {
  bool graphCaptured;
  int groupDepth;
} tw_nccl_profiler_group_api_v5_t;

typedef struct tw_nccl_profiler_coll_api_v5 {
  const char* func;
  size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graphCaptured;
} tw_nccl_profiler_coll_api_v5_t;

typedef struct tw_nccl_profiler_p2p_api_v5 {
  const char* func;
  size_t count;
  const char* datatype;
  void* stream;
  bool graphCaptured;
} tw_nccl_profiler_p2p_api_v5_t;

typedef struct tw_nccl_profiler_kernel_launch_v5 {
  void* stream;
} tw_nccl_profiler_kernel_launch_v5_t;

typedef struct tw_nccl_profiler_coll_v5 {
  uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  uint8_t nChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
  void* parentGroup;
} tw_nccl_profiler_coll_v5_t;

typedef struct tw_nccl_profiler_p2p_v5 {
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t nChannels;
  void* parentGroup;
} tw_nccl_profiler_p2p_v5_t;

typedef struct tw_nccl_profiler_event_v5 {
  uint64_t type;
  void* parentObj;
  int rank;
  union {
    tw_nccl_profiler_group_api_v5_t groupApi;
    tw_nccl_profiler_coll_api_v5_t collApi;
    tw_nccl_profiler_p2p_api_v5_t p2pApi;
    tw_nccl_profiler_kernel_launch_v5_t kernelLaunch;
    tw_nccl_profiler_coll_v5_t coll;
    tw_nccl_profiler_p2p_v5_t p2p;
    tw_nccl_profiler_proxy_op_v1_t proxyOp;
    tw_nccl_profiler_proxy_step_v1_t proxyStep;
    tw_nccl_profiler_kernel_ch_v4_t kernelCh;
    tw_nccl_profiler_net_plugin_v3_t netPlugin;
  };
} tw_nccl_profiler_event_v5_t;

typedef tw_nccl_result_t (*tw_nccl_profiler_start_v5_fn)(void* context, void** eHandle,
                                                         tw_nccl_profiler_event_v5_t* eDescr);

typedef struct tw_nccl_profiler_v5 {
  const char* name;
  tw_nccl_profiler_init_v5_fn init;
  tw_nccl_profiler_start_v5_fn startEvent;
  tw_nccl_profiler_stop_v1_fn stopEvent;
  tw_nccl_profiler_record_v1_fn recordEventState;
  tw_nccl_profiler_finalize_v1_fn finalize;
} tw_nccl_profiler_v5_t;

#ifdef __cplusplus
}
#endif
