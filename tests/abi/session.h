/* Sequences that every C test needs: a ring of net connections, a collective group, operations
 * retried while refused and tested until done. One thread. */
#pragma once

#include "tests/abi/driver.h"
#include "tests/abi/harness.h"

/* Connections to the next rank and from the previous one. */
struct ring {
  void* listen;
  void* send;
  void* receive;
};

/* listen, handles exchanged, connect and accept polled in turn; fail() on any error. */
void ring_open(struct driver* driver, struct group* group, struct ring* ring);
/* Closes the three comms, as NCCL does. */
void ring_close(struct driver* driver, struct ring* ring);

/* Polls connect until there is a comm or an error, at most `seconds`. */
tw_nccl_result_t connect_until(struct driver* driver, void* handle, void** comm, double seconds);

/* listen, handles exchanged, connect, closeListen at once. Without a comm on error. */
tw_nccl_result_t coll_open(struct driver* driver, struct group* group, void** comm);

/* Posts, retrying null requests. Holds that *request, which arrives stale, is always written. */
tw_nccl_result_t send_retried(struct driver* driver, void* comm, void* data, size_t bytes, int tag,
                              void* mhandle, void** request);
tw_nccl_result_t receive_retried(struct driver* driver, void* comm, int n, void** data,
                                 size_t* bytes, int* tags, void** mhandles, void** request);
tw_nccl_result_t all_reduce_retried(struct driver* driver, void* comm, void* send, void* recv,
                                    size_t count, int type, int op, void* mhandle, void** request);

/* Tests until done or failed; `sizes` may be null. fail() after kDeadlineSeconds. */
tw_nccl_result_t net_wait(struct driver* driver, void* request, int* sizes);
tw_nccl_result_t coll_wait(struct driver* driver, void* request, int* size);

/* Tests requests of any comms in turn, as NCCL's progress thread does, until all are done or one
 * fails. sizes[i], if not null, is request i's. At most 128. */
tw_nccl_result_t net_wait_all(struct driver* driver, int count, void** requests, int** sizes);

/* Sends `value` + rank to the next rank and receives the previous one's; the first error. */
tw_nccl_result_t pass_message(struct driver* driver, struct group* group, struct ring* ring,
                              int value);

/* Sum of int32 ones and ranks over the group, checked; the first error otherwise. */
tw_nccl_result_t all_reduce_checked(struct driver* driver, struct group* group, void* comm,
                                    size_t count);
