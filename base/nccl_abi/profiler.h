/* What all versions of NCCL's profiler interface share: kinds of events, and the parts of an event
 * descriptor, each named after the version that brought it; profiler_v1.h .. profiler_v6.h are made
 * of them. Our own declarations of a foreign ABI, in C11 and C++20, from NCCL's public profiler
 * headers (2.23 to 2.30). Values; any thread. */
#pragma once

#include <stdbool.h>

#include "base/nccl_abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of them in a descriptor's `type`, a mask at init. NCCL starts the parents of what is asked
 * for (groups, API calls, point-to-point tasks) all the same. */
enum {
  tw_nccl_profile_group = 1 << 0,
  tw_nccl_profile_coll = 1 << 1,
  tw_nccl_profile_p2p = 1 << 2,
  tw_nccl_profile_proxy_op = 1 << 3,
  tw_nccl_profile_proxy_step = 1 << 4,
  tw_nccl_profile_proxy_ctrl = 1 << 5,
  tw_nccl_profile_kernel_ch = 1 << 6,      /* v3 */
  tw_nccl_profile_net_plugin = 1 << 7,     /* v3 */
  tw_nccl_profile_group_api = 1 << 8,      /* v5 */
  tw_nccl_profile_coll_api = 1 << 9,       /* v5 */
  tw_nccl_profile_p2p_api = 1 << 10,       /* v5 */
  tw_nccl_profile_kernel_launch = 1 << 11, /* v5 */
  tw_nccl_profile_ce_coll = 1 << 12,       /* v6 */
  tw_nccl_profile_ce_sync = 1 << 13,       /* v6 */
  tw_nccl_profile_ce_batch = 1 << 14       /* v6 */
};

/* An operation that NCCL's proxy carries out on one channel, in one direction. */
typedef struct tw_nccl_profiler_proxy_op_v1 {
  int32_t pid; /* of the process that parentObj belongs to */
  uint8_t channelId;
  int peer;
  int nSteps;
  int chunkSize; /* bytes of one step */
  int isSend;    /* 0 for both directions of CollNet */
} tw_nccl_profiler_proxy_op_v1_t;

typedef struct tw_nccl_profiler_proxy_step_v1 {
  int step;
} tw_nccl_profiler_proxy_step_v1_t;

typedef struct tw_nccl_profiler_p2p_v2 {
  const char* name;
  uint64_t commHash;
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int peer;
} tw_nccl_profiler_p2p_v2_t;

typedef struct tw_nccl_profiler_p2p_v4 {
  const char* func;
  void* buff;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t nChannels;
} tw_nccl_profiler_p2p_v4_t;

typedef struct tw_nccl_profiler_kernel_ch_v4 {
  uint8_t channelId;
  uint64_t pTimer;
} tw_nccl_profiler_kernel_ch_v4_t;

typedef struct tw_nccl_profiler_net_plugin_v3 {
  int64_t id;
  void* data;
} tw_nccl_profiler_net_plugin_v3_t;

/* States and their arguments differ between versions; a plugin without use for them sees only the
 * pointer. */
typedef int tw_nccl_profiler_state_t;

typedef tw_nccl_result_t (*tw_nccl_profiler_init_v1_fn)(void** context, int* eActivationMask);
typedef tw_nccl_result_t (*tw_nccl_profiler_init_v4_fn)(void** context, int* eActivationMask,
                                                        const char* commName, uint64_t commHash,
                                                        int nNodes, int nranks, int rank,
                                                        tw_nccl_logger_t logfn);
typedef tw_nccl_result_t (*tw_nccl_profiler_init_v5_fn)(void** context, uint64_t commId,
                                                        int* eActivationMask, const char* commName,
                                                        int nNodes, int nranks, int rank,
                                                        tw_nccl_logger_t logfn);
typedef tw_nccl_result_t (*tw_nccl_profiler_stop_v1_fn)(void* eHandle);
typedef tw_nccl_result_t (*tw_nccl_profiler_record_v1_fn)(void* eHandle,
                                                          tw_nccl_profiler_state_t eState,
                                                          void* eStateArgs);
typedef tw_nccl_result_t (*tw_nccl_profiler_finalize_v1_fn)(void* context);

#ifdef __cplusplus
}
#endif
