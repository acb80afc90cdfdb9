/* NCCL's profiler interface, version 6 (first in 2.29: copy-engine collectives). See profiler.h. */
#pragma once

#include "base/nccl_abi/profiler_v5.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_nccl_profiler_ce_coll_v6 {
  uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  size_t count;
  int root;
  const char* datatype;
  const char* syncStrategy;
  bool intraBatchSync;
  uint32_t batchSize;
  uint32_t numBatches;
  uint32_t ceSeqNum;
  void* stream;
} tw_nccl_profiler_ce_coll_v6_t;

typedef struct tw_nccl_profiler_ce_sync_v6 {
  bool isComplete;
  int nRanks;
} tw_nccl_profiler_ce_sync_v6_t;

typedef struct tw_nccl_profiler_ce_batch_v6 {
  int numOps;
  size_t totalBytes;
  bool useIntraSync;
} tw_nccl_profiler_ce_batch_v6_t;

typedef struct tw_nccl_profiler_event_v6 {
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
    tw_nccl_profiler_ce_coll_v6_t ceColl;
    tw_nccl_profiler_ce_sync_v6_t ceCollSync;
    tw_nccl_profiler_ce_batch_v6_t ceCollBatch;
  };
} tw_nccl_profiler_event_v6_t;

typedef tw_nccl_result_t (*tw_nccl_profiler_start_v6_fn)(void* context, void** eHandle,
                                                         tw_nccl_profiler_event_v6_t* eDescr);

typedef struct tw_nccl_profiler_v6 {
  const char* name;
  tw_nccl_profiler_init_v5_fn init;
  tw_nccl_profiler_start_v6_fn startEvent;
  tw_nccl_profiler_stop_v1_fn stopEvent;
  tw_nccl_profiler_record_v1_fn recordEventState;
  tw_nccl_profiler_finalize_v1_fn finalize;
} tw_nccl_profiler_v6_t;

#ifdef __cplusplus
}
#endif
