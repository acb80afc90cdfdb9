/* NCCL's plain types as a network plugin meets them: our own declarations of a foreign ABI, in C11
 * and C++20, from NCCL's public plugin headers (2.18 to 2.30). Values; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ncclResult_t */
typedef enum tw_nccl_result {
  tw_nccl_success = 0,
  tw_nccl_unhandled_cuda_error = 1,
  tw_nccl_system_error = 2,
  tw_nccl_internal_error = 3,
  tw_nccl_invalid_argument = 4,
  tw_nccl_invalid_usage = 5,
  tw_nccl_remote_error = 6,
  tw_nccl_in_progress = 7
} tw_nccl_result_t;

/* ncclDataType_t and ncclRedOp_t: passed as int, so that a value from a newer NCCL stays legal. */
typedef int tw_nccl_data_type_t;
enum {
  tw_nccl_int8 = 0,
  tw_nccl_uint8 = 1,
  tw_nccl_int32 = 2,
  tw_nccl_uint32 = 3,
  tw_nccl_int64 = 4,
  tw_nccl_uint64 = 5,
  tw_nccl_float16 = 6,
  tw_nccl_float32 = 7,
  tw_nccl_float64 = 8,
  tw_nccl_bfloat16 = 9,
  tw_nccl_float8_e4m3 = 10,
  tw_nccl_float8_e5m2 = 11
};

typedef int tw_nccl_op_t;
enum { tw_nccl_sum = 0, tw_nccl_prod = 1, tw_nccl_max = 2, tw_nccl_min = 3, tw_nccl_avg = 4 };

/* Kinds of memory: one of them in regMr, a mask in ptrSupport. */
enum { tw_nccl_ptr_host = 1, tw_nccl_ptr_cuda = 2, tw_nccl_ptr_dmabuf = 4 };

enum {
  tw_nccl_handle_bytes = 128,          /* of listen's handle */
  tw_nccl_max_requests = 32,           /* per net comm; 8 up to v6 */
  tw_nccl_optional_recv_completion = 1 /* may stand in irecv's *request */
};

/* Above this, maxP2pBytes and maxCollBytes are refused (1 TiB). */
static const uint64_t tw_nccl_max_net_size_bytes = (uint64_t)1 << 40;

/* Network offload: a plugin without device code says host, version 0. */
typedef int tw_nccl_net_device_type_t;
enum { tw_nccl_net_device_host = 0, tw_nccl_net_device_unpack = 1 };

typedef struct tw_nccl_net_device_handle {
  tw_nccl_net_device_type_t netDeviceType;
  int netDeviceVersion;
  void* handle;
  size_t size;
  int needsProxyProgress;
} tw_nccl_net_device_handle_t;

/* Undefined traffic class, attribute, rail or plane. */
enum { tw_nccl_undefined = -1 };

typedef int tw_nccl_log_level_t;
enum {
  tw_nccl_log_none = 0,
  tw_nccl_log_version = 1,
  tw_nccl_log_warn = 2,
  tw_nccl_log_info = 3,
  tw_nccl_log_abort = 4,
  tw_nccl_log_trace = 5
};

/* Subsystems, for the logger's flags. */
enum { tw_nccl_subsys_init = 0x1, tw_nccl_subsys_coll = 0x2, tw_nccl_subsys_net = 0x10 };

/* printf-style; NCCL adds host, rank and newline. */
typedef void (*tw_nccl_logger_t)(tw_nccl_log_level_t level, unsigned long flags, const char* file,
                                 int line, const char* format, ...);

/* Given to init from v10 on: reports events of ours to the user's profiler. */
typedef tw_nccl_result_t (*tw_nccl_profiler_callback_t)(void** event_handle, int type,
                                                        void* parent_handle, int64_t plugin_id,
                                                        void* extension);

#ifdef __cplusplus
}
#endif
