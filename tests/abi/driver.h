/* The plugin through any version of its tables, called as NCCL calls it: connections are polled,
 * null requests retried, requests tested until done. One thread. */
#pragma once

#include <stdbool.h>

#include "base/nccl_abi/net_v12.h"

enum { kOldestVersion = 6, kNewestVersion = 12, kNetSlots = 16, kCollSlots = 16 };

typedef void (*any_function)(void);

/* One loaded library at one interface version. The slots are in the tables' order. */
struct driver {
  void* library;
  int version;
  any_function net[kNetSlots];
  any_function coll[kCollSlots];
  any_function net_finalize;
  any_function coll_finalize;
  uint64_t comm_id;       /* what init names the communicator from v11 on; 42 */
  int device;             /* that rings are opened on; 0 */
  any_function net_merge; /* makeVDevice, from v9 on */
  any_function coll_merge;
  void* net_context;
  void* coll_context;
};

enum { kMaxMembers = tw_nccl_max_devs_per_nic_v12 };

struct device {
  char name[64];
  char pci_path[256];
  int pointer_support;
  int speed_mbps;
  int max_receives;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
  int member_count; /* 1, itself, before v9 */
  int members[kMaxMembers];
  int rail; /* tw_nccl_undefined before v12 */
  int plane;
};

/* dlopen and dlsym, or fail(). */
void driver_load(struct driver* driver, const char* path, int version);
/* dlclose. */
void driver_unload(struct driver* driver);
/* init of both tables, in NCCL's order; the first result that is not success. */
tw_nccl_result_t driver_init(struct driver* driver, tw_nccl_logger_t logger);
void driver_finalize(struct driver* driver);
bool driver_gathers(const struct driver* driver); /* has iallgather and ireducescatter */

tw_nccl_result_t net_devices(struct driver* driver, int* count);
tw_nccl_result_t coll_devices(struct driver* driver, int* count);
tw_nccl_result_t net_properties(struct driver* driver, int dev, struct device* device);
tw_nccl_result_t coll_properties(struct driver* driver, int dev, struct device* device);

/* makeVDevice of either table, from v9 on; at most kMaxMembers. */
tw_nccl_result_t merge_devices(struct driver* driver, any_function make, int count,
                               const int* members, int* dev);

tw_nccl_result_t net_listen(struct driver* driver, int dev, void* handle, void** comm);
tw_nccl_result_t net_connect(struct driver* driver, int dev, void* handle, void** comm);
tw_nccl_result_t net_accept(struct driver* driver, void* listen_comm, void** comm);
tw_nccl_result_t net_reg_mr(struct driver* driver, void* comm, void* data, size_t bytes, int kind,
                            void** mhandle);
tw_nccl_result_t net_reg_mr_dmabuf(struct driver* driver, void* comm, void* data, size_t bytes,
                                   int kind, int fd, void** mhandle);
tw_nccl_result_t net_dereg_mr(struct driver* driver, void* comm, void* mhandle);
tw_nccl_result_t net_isend(struct driver* driver, void* comm, void* data, size_t bytes, int tag,
                           void* mhandle, void** request);
/* At most 16 buffers. */
tw_nccl_result_t net_irecv(struct driver* driver, void* comm, int n, void** data, size_t* bytes,
                           int* tags, void** mhandles, void** request);
tw_nccl_result_t net_iflush(struct driver* driver, void* comm, int n, void** data, int* bytes,
                            void** mhandles, void** request);
tw_nccl_result_t net_test(struct driver* driver, void* request, int* done, int* sizes);
tw_nccl_result_t net_close_send(struct driver* driver, void* comm);
tw_nccl_result_t net_close_recv(struct driver* driver, void* comm);
tw_nccl_result_t net_close_listen(struct driver* driver, void* comm);

tw_nccl_result_t coll_listen(struct driver* driver, int dev, void* handle, void** comm);
tw_nccl_result_t coll_connect(struct driver* driver, void** handles, int ranks, int rank,
                              void* listen_comm, void** comm);
tw_nccl_result_t coll_reduce_support(struct driver* driver, int type, int op, int* supported);
tw_nccl_result_t coll_reg_mr(struct driver* driver, void* comm, void* data, size_t bytes, int kind,
                             void** mhandle);
tw_nccl_result_t coll_dereg_mr(struct driver* driver, void* comm, void* mhandle);
tw_nccl_result_t coll_iallreduce(struct driver* driver, void* comm, void* send, void* recv,
                                 size_t count, int type, int op, void* send_mhandle,
                                 void* recv_mhandle, void** request);

/* Bytes of each rank's slice, and the window of the ranks' slices put together. */
struct window {
  size_t bytes_per_rank;
  size_t offset;
  size_t bytes;
};
tw_nccl_result_t coll_iallgather(struct driver* driver, void* comm, void* send, void* recv,
                                 struct window window, void* send_mhandle, void* recv_mhandle,
                                 void** request);
tw_nccl_result_t coll_ireducescatter(struct driver* driver, void* comm, void* send, void* recv,
                                     struct window window, int type, int op, void* send_mhandle,
                                     void* recv_mhandle, void** request);
tw_nccl_result_t coll_iflush(struct driver* driver, void* comm, void* data, int bytes,
                             void* mhandle, void** request);
tw_nccl_result_t coll_test(struct driver* driver, void* request, int* done, int* size);
tw_nccl_result_t coll_close(struct driver* driver, void* comm);
tw_nccl_result_t coll_close_listen(struct driver* driver, void* comm);
