/* NCCL's profiler interface, version 2 (first in 2.24: functions, types and algorithms as text).
 * See profiler.h. */
#pragma once

#include "base/nccl_abi/profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_nccl_profiler_coll_v2 {
  const char* name;
  uint64_t commHash;
  uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  size_t trafficBytes;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  const char* algo;
  const char* proto;
} tw_nccl_profiler_coll_v2_t;

typedef struct tw_nccl_profiler_event_v2 {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    tw_nccl_profiler_coll_v2_t coll;
    tw_nccl_profiler_p2p_v2_t p2p;
    tw_nccl_profiler_proxy_op_v1_t proxyOp;
    tw_nccl_profiler_proxy_step_v1_t proxyStep;
  };
} tw_nccl_profiler_event_v2_t;

typedef tw_nccl_result_t (*tw_nccl_profiler_start_v2_fn)(void* context, void** eHandle,
                                                         tw_nccl_profiler_event_v2_t* eDescr);

typedef struct tw_nccl_profiler_v2 {
  const char* name;
  tw_nccl_profiler_init_v1_fn init;
  tw_nccl_profiler_start_v2_fn startEvent;
  tw_nccl_profiler_stop_v1_fn stopEvent;
  tw_nccl_profiler_record_v1_fn recordEventState;
  tw_nccl_profiler_finalize_v1_fn finalize;
} tw_nccl_profiler_v2_t;

#ifdef __cplusplus
}
#endif
