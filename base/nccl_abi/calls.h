/* The signatures of NCCL's plugin tables, each named after the version that brought it; the tables
 * in net_v6.h .. net_v12.h are made of them. C11 and C++20, facts from NCCL's public headers. */
#pragma once

#include "base/nccl_abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Life of the plugin. */
typedef tw_nccl_result_t (*tw_nccl_init_v6_fn)(tw_nccl_logger_t logFunction);
typedef tw_nccl_result_t (*tw_nccl_net_init_v10_fn)(tw_nccl_logger_t logFunction,
                                                    tw_nccl_profiler_callback_t profFunction);
typedef tw_nccl_result_t (*tw_nccl_collnet_init_v11_fn)(void** ctx, uint64_t commId,
                                                        tw_nccl_logger_t logFunction);
typedef tw_nccl_result_t (*tw_nccl_devices_v6_fn)(int* ndev);
typedef tw_nccl_result_t (*tw_nccl_finalize_v11_fn)(void* ctx);

/* Connections of the net table. The dev-comm pointers ask for device offload. */
typedef tw_nccl_result_t (*tw_nccl_listen_v6_fn)(int dev, void* handle, void** listenComm);
typedef tw_nccl_result_t (*tw_nccl_listen_v11_fn)(void* ctx, int dev, void* handle,
                                                  void** listenComm);
typedef tw_nccl_result_t (*tw_nccl_connect_v6_fn)(int dev, void* handle, void** sendComm);
typedef tw_nccl_result_t (*tw_nccl_connect_v7_fn)(int dev, void* handle, void** sendComm,
                                                  tw_nccl_net_device_handle_t** sendDevComm);
typedef tw_nccl_result_t (*tw_nccl_connect_v11_fn)(void* ctx, int dev, void* handle,
                                                   void** sendComm,
                                                   tw_nccl_net_device_handle_t** sendDevComm);
typedef tw_nccl_result_t (*tw_nccl_accept_v6_fn)(void* listenComm, void** recvComm);
typedef tw_nccl_result_t (*tw_nccl_accept_v7_fn)(void* listenComm, void** recvComm,
                                                 tw_nccl_net_device_handle_t** recvDevComm);
typedef tw_nccl_result_t (*tw_nccl_close_v6_fn)(void* comm);

/* Memory, the same for both tables. */
typedef tw_nccl_result_t (*tw_nccl_reg_mr_v6_fn)(void* comm, void* data, int size, int type,
                                                 void** mhandle);
typedef tw_nccl_result_t (*tw_nccl_reg_mr_v8_fn)(void* comm, void* data, size_t size, int type,
                                                 void** mhandle);
typedef tw_nccl_result_t (*tw_nccl_reg_mr_dma_buf_v6_fn)(void* comm, void* data, size_t size,
                                                         int type, uint64_t offset, int fd,
                                                         void** mhandle);
typedef tw_nccl_result_t (*tw_nccl_dereg_mr_v6_fn)(void* comm, void* mhandle);
typedef tw_nccl_result_t (*tw_nccl_get_device_mr_v7_fn)(void* comm, void* mhandle,
                                                        void** dptr_mhandle);

/* Point-to-point messages. */
typedef tw_nccl_result_t (*tw_nccl_isend_v6_fn)(void* sendComm, void* data, int size, int tag,
                                                void* mhandle, void** request);
typedef tw_nccl_result_t (*tw_nccl_isend_v9_fn)(void* sendComm, void* data, size_t size, int tag,
                                                void* mhandle, void** request);
typedef tw_nccl_result_t (*tw_nccl_isend_v10_fn)(void* sendComm, void* data, size_t size, int tag,
                                                 void* mhandle, void* phandle, void** request);
typedef tw_nccl_result_t (*tw_nccl_irecv_v6_fn)(void* recvComm, int n, void** data, int* sizes,
                                                int* tags, void** mhandles, void** request);
typedef tw_nccl_result_t (*tw_nccl_irecv_v9_fn)(void* recvComm, int n, void** data, size_t* sizes,
                                                int* tags, void** mhandles, void** request);
typedef tw_nccl_result_t (*tw_nccl_irecv_v10_fn)(void* recvComm, int n, void** data, size_t* sizes,
                                                 int* tags, void** mhandles, void** phandles,
                                                 void** request);
typedef tw_nccl_result_t (*tw_nccl_iflush_v6_fn)(void* recvComm, int n, void** data, int* sizes,
                                                 void** mhandles, void** request);
typedef tw_nccl_result_t (*tw_nccl_test_v6_fn)(void* request, int* done, int* sizes);
typedef tw_nccl_result_t (*tw_nccl_irecv_consumed_v7_fn)(void* recvComm, int n, void* request);

/* Collectives. */
typedef tw_nccl_result_t (*tw_nccl_coll_connect_v6_fn)(void* handles[], int nranks, int rank,
                                                       void* listenComm, void** collComm);
typedef tw_nccl_result_t (*tw_nccl_reduce_support_v6_fn)(tw_nccl_data_type_t dataType,
                                                         tw_nccl_op_t redOp, int* supported);
typedef tw_nccl_result_t (*tw_nccl_iallreduce_v6_fn)(void* collComm, void* sendData, void* recvData,
                                                     int count, tw_nccl_data_type_t dataType,
                                                     tw_nccl_op_t redOp, void* sendMhandle,
                                                     void* recvMhandle, void** request);
typedef tw_nccl_result_t (*tw_nccl_iallreduce_v9_fn)(void* collComm, void* sendData, void* recvData,
                                                     size_t count, tw_nccl_data_type_t dataType,
                                                     tw_nccl_op_t redOp, void* sendMhandle,
                                                     void* recvMhandle, void** request);
typedef tw_nccl_result_t (*tw_nccl_coll_iflush_v6_fn)(void* collComm, void* data, int size,
                                                      void* mhandle, void** request);

#ifdef __cplusplus
}
#endif
