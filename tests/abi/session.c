#include "tests/abi/session.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxWaits = 128 };

/* What *request holds when a post begins: neither null nor a request. */
static void* stale(void) { return (void*)(uintptr_t)tw_nccl_optional_recv_completion; }

void ring_open(struct driver* driver, struct group* group, struct ring* ring) {
  char handle[tw_nccl_handle_bytes] = {0};
  char handles[kMaxRanks][tw_nccl_handle_bytes];
  memset(ring, 0, sizeof *ring);
  require_success(net_listen(driver, driver->device, handle, &ring->listen), "listen");
  exchange(group, handle, sizeof handle, handles);
  const int next = (group->rank + 1) % group->ranks;
  const double deadline = seconds_now() + kDeadlineSeconds;
  while (ring->send == NULL || ring->receive == NULL) {
    if (ring->send == NULL) {
      require_success(net_connect(driver, driver->device, handles[next], &ring->send), "connect");
    }
    if (ring->receive == NULL) {
      require_success(net_accept(driver, ring->listen, &ring->receive), "accept");
    }
    require(seconds_now() < deadline, "no connection");
    give_way();
  }
}

void ring_close(struct driver* driver, struct ring* ring) {
  require_success(net_close_send(driver, ring->send), "closeSend");
  require_success(net_close_recv(driver, ring->receive), "closeRecv");
  require_success(net_close_listen(driver, ring->listen), "closeListen");
}

tw_nccl_result_t connect_until(struct driver* driver, void* handle, void** comm, double seconds) {
  const double deadline = seconds_now() + seconds;
  *comm = NULL;
  for (;;) {
    const tw_nccl_result_t result = net_connect(driver, 0, handle, comm);
    if (result != tw_nccl_success || *comm != NULL || seconds_now() > deadline) return result;
    give_way();
  }
}

tw_nccl_result_t coll_open(struct driver* driver, struct group* group, void** comm) {
  char handle[tw_nccl_handle_bytes] = {0};
  char handles[kMaxRanks][tw_nccl_handle_bytes];
  void* pointers[kMaxRanks];
  void* listen = NULL;
  *comm = NULL;
  require_success(coll_listen(driver, 0, handle, &listen), "CollNet listen");
  exchange(group, handle, sizeof handle, handles);
  for (int rank = 0; rank < group->ranks; ++rank) pointers[rank] = handles[rank];
  const tw_nccl_result_t result =
      coll_connect(driver, pointers, group->ranks, group->rank, listen, comm);
  if (result != tw_nccl_success) return result;
  require(*comm != NULL, "CollNet connect left no comm");
  require_success(coll_close_listen(driver, listen), "CollNet closeListen");
  return result;
}

/* One more try of a post that was refused: false once it was taken or failed. */
static bool refused(tw_nccl_result_t result, void* request, double deadline) {
  require(request != stale(), "*request still holds what it arrived with");
  if (result != tw_nccl_success || request != NULL) return false;
  require(seconds_now() < deadline, "refused for %d s", kDeadlineSeconds);
  give_way();
  return true;
}

tw_nccl_result_t send_retried(struct driver* driver, void* comm, void* data, size_t bytes, int tag,
                              void* mhandle, void** request) {
  const double deadline = seconds_now() + kDeadlineSeconds;
  tw_nccl_result_t result;
  do {
    *request = stale();
    result = net_isend(driver, comm, data, bytes, tag, mhandle, request);
  } while (refused(result, *request, deadline));
  return result;
}

tw_nccl_result_t receive_retried(struct driver* driver, void* comm, int n, void** data,
                                 size_t* bytes, int* tags, void** mhandles, void** request) {
  const double deadline = seconds_now() + kDeadlineSeconds;
  tw_nccl_result_t result;
  do {
    *request = stale();
    result = net_irecv(driver, comm, n, data, bytes, tags, mhandles, request);
  } while (refused(result, *request, deadline));
  return result;
}

tw_nccl_result_t all_reduce_retried(struct driver* driver, void* comm, void* send, void* recv,
                                    size_t count, int type, int op, void* mhandle, void** request) {
  const double deadline = seconds_now() + kDeadlineSeconds;
  tw_nccl_result_t result;
  do {
    *request = stale();
    result = coll_iallreduce(driver, comm, send, recv, count, type, op, mhandle, mhandle, request);
  } while (refused(result, *request, deadline));
  return result;
}

typedef tw_nccl_result_t (*test_function)(struct driver*, void*, int*, int*);

static tw_nccl_result_t wait_for(test_function test, struct driver* driver, void* request,
                                 int* sizes) {
  const double deadline = seconds_now() + kDeadlineSeconds;
  for (;;) {
    int done = 0;
    const tw_nccl_result_t result = test(driver, request, &done, sizes);
    if (result != tw_nccl_success || done) return result;
    require(seconds_now() < deadline, "request not done after %d s", kDeadlineSeconds);
    give_way();
  }
}

tw_nccl_result_t net_wait(struct driver* driver, void* request, int* sizes) {
  return wait_for(net_test, driver, request, sizes);
}

tw_nccl_result_t coll_wait(struct driver* driver, void* request, int* size) {
  return wait_for(coll_test, driver, request, size);
}

tw_nccl_result_t net_wait_all(struct driver* driver, int count, void** requests, int** sizes) {
  bool finished[kMaxWaits] = {false};
  int left = count;
  const double deadline = seconds_now() + kDeadlineSeconds;
  while (left > 0) {
    for (int i = 0; i < count; ++i) {
      int done = 0;
      if (finished[i]) continue;
      const tw_nccl_result_t result =
          net_test(driver, requests[i], &done, sizes == NULL ? NULL : sizes[i]);
      if (result != tw_nccl_success) return result;
      finished[i] = done;
      left -= done != 0;
    }
    require(seconds_now() < deadline, "%d of %d requests not done", left, count);
    give_way();
  }
  return tw_nccl_success;
}

tw_nccl_result_t pass_message(struct driver* driver, struct group* group, struct ring* ring,
                              int value) {
  int out = value + group->rank;
  int in = -1;
  void* data = &in;
  size_t room = sizeof in;
  int tag = 1;
  void* no_handle = NULL;
  void* requests[2];
  const int previous = (group->rank + group->ranks - 1) % group->ranks;
  tw_nccl_result_t result =
      receive_retried(driver, ring->receive, 1, &data, &room, &tag, &no_handle, &requests[0]);
  if (result == tw_nccl_success) {
    result = send_retried(driver, ring->send, &out, sizeof out, tag, NULL, &requests[1]);
  }
  if (result == tw_nccl_success) result = net_wait_all(driver, 2, requests, NULL);
  require(result != tw_nccl_success || in == value + previous, "received %d", in);
  return result;
}

tw_nccl_result_t all_reduce_checked(struct driver* driver, struct group* group, void* comm,
                                    size_t count) {
  int32_t* values = malloc(count * sizeof *values + 1);
  const int ranks = group->ranks;
  void* request = NULL;
  for (size_t i = 0; i < count; ++i) values[i] = (int32_t)(i % 1000) + group->rank;
  tw_nccl_result_t result = all_reduce_retried(driver, comm, values, values, count, tw_nccl_int32,
                                               tw_nccl_sum, NULL, &request);
  if (result == tw_nccl_success) result = coll_wait(driver, request, NULL);
  for (size_t i = 0; i < count && result == tw_nccl_success; ++i) {
    const int32_t expected = (int32_t)(i % 1000) * ranks + ranks * (ranks - 1) / 2;
    require(values[i] == expected, "element %zu is %d, not %d", i, values[i], expected);
  }
  free(values);
  return result;
}
