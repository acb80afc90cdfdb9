/* NCCL's profiler interface, version 3 (first in 2.26: events of kernels and network plugins). See
 * profiler.h. */
#pragma once

#include "base/nccl_abi/profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_nccl_profiler_coll_v3 {
  const char* name;
  uint64_t commHash;
  uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
} tw_nccl_profiler_coll_v3_t;

typedef struct tw_nccl_profiler_kernel_ch_v3 {
  uint8_t channelId;
} tw_nccl_profiler_kernel_ch_v3_t;

typedef struct tw_nccl_profiler_event_v3 {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    tw_nccl_profiler_coll_v3_t coll;
    tw_nccl_profiler_p2p_v2_t p2p;
    tw_nccl_profiler_proxy_op_v1_t proxyOp;
    tw_nccl_profiler_proxy_step_v1_t proxyStep;
    tw_nccl_profiler_kernel_ch_v3_t kernelCh;
    tw_nccl_profiler_net_plugin_v3_t netPlugin;
  };
} tw_nccl_profiler_event_v3_t;

typedef tw_nccl_result_t (*tw_nccl_profiler_start_v3_fn)(void* context, void** eHandle,
                                                         tw_nccl_profiler_event_v3_t* eDescr);

typedef struct tw_nccl_profiler_v3 {
  const char* name;
  tw_nccl_profiler_init_v1_fn init;
  tw_nccl_profiler_start_v3_fn startEvent;
  tw_nccl_profiler_stop_v1_fn stopEvent;
  tw_nccl_profiler_record_v1_fn recordEventState;
  tw_nccl_profiler_finalize_v1_fn finalize;
} tw_nccl_profiler_v3_t;

#ifdef __cplusplus
}
#endif
