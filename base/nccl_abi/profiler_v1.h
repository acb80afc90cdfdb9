/* NCCL's profiler interface, version 1 (first in 2.23: functions, types and algorithms as numbers).
 * See profiler.h. */
#pragma once

#include "base/nccl_abi/profiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers in `func`. */
enum { tw_nccl_profiler_all_reduce_v1 = 4 };
/* Numbers in `algo`. */
enum {
  tw_nccl_profiler_collnet_direct_v1 = 2,
  tw_nccl_profiler_collnet_chain_v1 = 3,
  tw_nccl_profiler_nvls_v1 = 4
};

typedef struct tw_nccl_profiler_coll_v1 {
  const char* name;
  uint64_t commHash;
  uint64_t seqNumber;
  uint8_t func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  uint8_t datatype;
  uint32_t op;
  size_t trafficBytes;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  uint8_t algo;
  uint8_t proto;
  int isCollnet;
  int isNvls;
} tw_nccl_profiler_coll_v1_t;

typedef struct tw_nccl_profiler_p2p_v1 {
  const char* name;
  uint64_t commHash;
  uint8_t func;
  void* buff;
  uint8_t datatype;
  size_t count;
  int peer;
} tw_nccl_profiler_p2p_v1_t;

typedef struct tw_nccl_profiler_event_v1 {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    tw_nccl_profiler_coll_v1_t coll;
    tw_nccl_profiler_p2p_v1_t p2p;
    tw_nccl_profiler_proxy_op_v1_t proxyOp;
    tw_nccl_profiler_proxy_step_v1_t proxyStep;
  };
} tw_nccl_profiler_event_v1_t;

typedef tw_nccl_result_t (*tw_nccl_profiler_start_v1_fn)(void* context, void** eHandle,
                                                         tw_nccl_profiler_event_v1_t* eDescr);

typedef struct tw_nccl_profiler_v1 {
  const char* name;
  tw_nccl_profiler_init_v1_fn init;
  tw_nccl_profiler_start_v1_fn startEvent;
  tw_nccl_profiler_stop_v1_fn stopEvent;
  tw_nccl_profiler_record_v1_fn recordEventState;
  tw_nccl_profiler_finalize_v1_fn finalize;
} tw_nccl_profiler_v1_t;

#ifdef __cplusplus
}
#endif
