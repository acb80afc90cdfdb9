/* What NCCL does that a plugin may not expect: aborts with work outstanding, stale pointers, many
 * requests, misuse. usage: abi_behaviour LIBRARY CASE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/abi/session.h"

enum { kBulk = 1 << 20, kManyRequests = 48, kFlood = 4096 };

static const char* library;
static int version = 12;

static void start(struct driver* driver) {
  driver_load(driver, library, version);
  require_success(driver_init(driver, record_log), "init");
}

static void stop(struct driver* driver) {
  driver_finalize(driver);
  driver_unload(driver);
}

/* ncclCommAbort: deregMr and close come while requests are outstanding, and those are never
 * tested. */
static int abort_rank(struct group* group, void* argument) {
  (void)argument;
  struct driver driver;
  struct ring ring;
  void* comm = NULL;
  void* request = NULL;
  void* send_handle = NULL;
  void* coll_handle = NULL;
  char* data = malloc(2 * kBulk);
  void* target = data + kBulk;
  size_t room = kBulk;
  int tag = 5;
  void* no_handle = NULL;
  memset(data, 1, 2 * kBulk);
  start(&driver);
  ring_open(&driver, group, &ring);
  require_success(coll_open(&driver, group, &comm), "CollNet connect");
  require_success(net_reg_mr(&driver, ring.send, data, kBulk, tw_nccl_ptr_host, &send_handle),
                  "regMr");
  require_success(coll_reg_mr(&driver, comm, data, kBulk, tw_nccl_ptr_host, &coll_handle),
                  "CollNet regMr");
  for (int i = 0; i < 4; ++i) {
    require_success(send_retried(&driver, ring.send, data, kBulk, 4, send_handle, &request),
                    "isend");
  }
  require_success(
      receive_retried(&driver, ring.receive, 1, &target, &room, &tag, &no_handle, &request),
      "irecv");
  if (group->rank == 0) {
    require_success(all_reduce_retried(&driver, comm, data, data, kBulk / 4, tw_nccl_int32,
                                       tw_nccl_sum, coll_handle, &request),
                    "iallreduce");
  }
  barrier(group);
  require_success(net_dereg_mr(&driver, ring.send, send_handle), "deregMr while sending");
  require_success(coll_dereg_mr(&driver, comm, coll_handle), "CollNet deregMr while reducing");
  require_success(coll_close(&driver, comm), "closeColl while reducing");
  ring_close(&driver, &ring);
  stop(&driver);
  free(data);
  return 0;
}

/* More than NCCL_NET_MAX_REQUESTS at once, posted before anyone receives. */
static int many_rank(struct group* group, void* argument) {
  (void)argument;
  struct driver driver;
  struct ring ring;
  int32_t out[kManyRequests];
  int32_t in[kManyRequests];
  void* requests[2 * kManyRequests];
  start(&driver);
  ring_open(&driver, group, &ring);
  for (int i = 0; i < kManyRequests; ++i) {
    out[i] = i;
    in[i] = -1;
    require_success(send_retried(&driver, ring.send, &out[i], sizeof out[i], 1, NULL, &requests[i]),
                    "isend");
  }
  for (int i = 0; i < kManyRequests; ++i) {
    void* data = &in[i];
    size_t room = sizeof in[i];
    int tag = 1;
    void* handle = NULL;
    require_success(receive_retried(&driver, ring.receive, 1, &data, &room, &tag, &handle,
                                    &requests[kManyRequests + i]),
                    "irecv");
  }
  require_success(net_wait_all(&driver, 2 * kManyRequests, requests, NULL), "test");
  for (int i = 0; i < kManyRequests; ++i) require(in[i] == i, "message %d holds %d", i, in[i]);
  barrier(group);
  ring_close(&driver, &ring);
  stop(&driver);
  return 0;
}

/* Receives `expected` messages one at a time while testing the oldest send, as they all need it. */
static void drain_flood(struct driver* driver, struct ring* ring, int expected, int taken,
                        void** sends) {
  static char in[4096];
  int received = 0;
  int sent = 0;
  void* receive = NULL;
  const double deadline = seconds_now() + kDeadlineSeconds;
  while (received < expected || sent < taken) {
    void* target = in;
    size_t room = sizeof in;
    int tag = 1;
    void* handle = NULL;
    int done = 0;
    if (receive == NULL && received < expected) {
      require_success(net_irecv(driver, ring->receive, 1, &target, &room, &tag, &handle, &receive),
                      "irecv");
    }
    if (receive != NULL) require_success(net_test(driver, receive, &done, NULL), "test");
    received += done;
    if (done) receive = NULL;
    done = 0;
    if (sent < taken) require_success(net_test(driver, sends[sent], &done, NULL), "test");
    sent += done;
    require(seconds_now() < deadline, "%d of %d received, %d of %d sent", received, expected, sent,
            taken);
    give_way();
  }
}

/* Sends until refused: the refusal is success with a null request, and later sends are taken. */
static int flood_rank(struct group* group, void* argument) {
  (void)argument;
  struct driver driver;
  struct ring ring;
  static char data[4096];
  static void* requests[kFlood];
  int taken = 0;
  start(&driver);
  ring_open(&driver, group, &ring);
  while (taken < kFlood) {
    void* request = (void*)(uintptr_t)0x1;
    require_success(net_isend(&driver, ring.send, data, sizeof data, 1, NULL, &request), "isend");
    require(request != (void*)(uintptr_t)0x1, "*request was left as it came");
    if (request == NULL) break;
    requests[taken++] = request;
  }
  require(taken >= tw_nccl_max_requests, "only %d sends taken", taken);
  int counts[kMaxRanks];
  exchange(group, &taken, sizeof taken, counts);
  const int expected = counts[(group->rank + group->ranks - 1) % group->ranks];
  drain_flood(&driver, &ring, expected, taken, requests);
  barrier(group);
  ring_close(&driver, &ring);
  stop(&driver);
  return 0;
}

/* Tests a request until it fails; what came. */
static tw_nccl_result_t failure_of(struct driver* driver, void* request) {
  int sizes[1];
  return net_wait(driver, request, sizes);
}

/* A message that does not fit is an error on both sides, never a cut. */
static int truncation_rank(struct group* group, void* argument) {
  (void)argument;
  struct driver driver;
  struct ring ring;
  char data[256] = {0};
  void* target = data;
  size_t room = 16;
  int tag = 1;
  void* handle = NULL;
  void* receive = NULL;
  void* send = NULL;
  start(&driver);
  ring_open(&driver, group, &ring);
  if (group->rank == 0) {
    tw_nccl_result_t result = send_retried(&driver, ring.send, data, sizeof data, 1, NULL, &send);
    const double deadline = seconds_now() + kDeadlineSeconds;
    while (result == tw_nccl_success && seconds_now() < deadline) {
      if (send == NULL) {
        result = net_isend(&driver, ring.send, data, sizeof data, 1, NULL, &send);
      } else {
        result = net_wait(&driver, send, NULL);
        send = NULL;
      }
    }
    require(result != tw_nccl_success, "the sender of a message too long never hears of it");
  } else {
    require_success(
        receive_retried(&driver, ring.receive, 1, &target, &room, &tag, &handle, &receive),
        "irecv");
    require(failure_of(&driver, receive) != tw_nccl_success, "a cut message was accepted");
  }
  barrier(group);
  ring_close(&driver, &ring);
  stop(&driver);
  return 0;
}

/* One listen handle serves several connections. */
static int reuse_rank(struct group* group, void* argument) {
  (void)argument;
  struct driver driver;
  char handle[tw_nccl_handle_bytes] = {0};
  char handles[kMaxRanks][tw_nccl_handle_bytes];
  void* listen = NULL;
  void* comms[3] = {NULL};
  start(&driver);
  require_success(net_listen(&driver, 0, handle, &listen), "listen");
  exchange(group, handle, sizeof handle, handles);
  const double deadline = seconds_now() + kDeadlineSeconds;
  for (int i = 0; i < 3; ++i) {
    while (comms[i] == NULL) {
      if (group->rank == 0) {
        require_success(net_connect(&driver, 0, handles[1], &comms[i]), "connect");
      } else {
        require_success(net_accept(&driver, listen, &comms[i]), "accept");
      }
      require(seconds_now() < deadline, "connection %d never comes", i);
      give_way();
    }
  }
  barrier(group);
  for (int i = 0; i < 3; ++i) {
    require_success(
        group->rank == 0 ? net_close_send(&driver, comms[i]) : net_close_recv(&driver, comms[i]),
        "close");
  }
  require_success(net_close_listen(&driver, listen), "closeListen");
  stop(&driver);
  return 0;
}

static void misuse_before_connect(struct driver* driver) {
  struct device device;
  char garbage[tw_nccl_handle_bytes];
  char handle[tw_nccl_handle_bytes];
  void* comm = NULL;
  int supported = -1;
  int count = 0;
  memset(garbage, 0x5a, sizeof garbage);
  require_success(net_devices(driver, &count), "devices");
  require(net_properties(driver, count, &device) != tw_nccl_success, "device too high accepted");
  require(net_properties(driver, -1, &device) != tw_nccl_success, "device -1 accepted");
  require(coll_properties(driver, count, &device) != tw_nccl_success,
          "CollNet device too high accepted");
  require(connect_until(driver, garbage, &comm, 20) != tw_nccl_success && comm == NULL,
          "connected to garbage");
  void* listen = NULL;
  require(net_listen(driver, count + 3, handle, &listen) != tw_nccl_success,
          "listens on a device that is not there");
  for (int type = -1; type <= 40; ++type) {
    for (int op = -1; op <= 6; ++op) {
      const tw_nccl_result_t result = coll_reduce_support(driver, type, op, &supported);
      const bool known = type >= 0 && type <= 11 && op >= 0 && op <= 3;
      require(result != tw_nccl_success || supported == known, "reduceSupport(%d, %d) says %d",
              type, op, supported);
      require(!known || result == tw_nccl_success, "reduceSupport(%d, %d) fails", type, op);
    }
  }
}

static void misuse_of_comms(struct driver* driver, struct ring* ring, void* comm) {
  char data[64] = {0};
  void* targets[16];
  size_t rooms[16];
  int tags[16] = {0};
  void* handles[16] = {NULL};
  void* mhandle = NULL;
  void* request;
  for (int i = 0; i < 16; ++i) {
    targets[i] = data;
    rooms[i] = 4;
  }
  require(net_reg_mr(driver, ring->send, data, 64, tw_nccl_ptr_cuda, &mhandle) != tw_nccl_success,
          "GPU memory registered by a host-only plugin");
  require(net_reg_mr_dmabuf(driver, ring->send, data, 64, tw_nccl_ptr_cuda, -1, &mhandle) !=
              tw_nccl_success,
          "DMA-BUF registered by a host-only plugin");
  static const int kBadGroups[] = {-1, 0, 16};
  for (int i = 0; i < 3; ++i) {
    request = (void*)(uintptr_t)0x1;
    require(net_irecv(driver, ring->receive, kBadGroups[i], targets, rooms, tags, handles,
                      &request) != tw_nccl_success,
            "irecv of %d buffers accepted", kBadGroups[i]);
    require(request == NULL, "refused irecv of %d leaves *request stale", kBadGroups[i]);
  }
  static const int kBadTypes[][2] = {{-1, 0}, {12, 0}, {99, 0}, {7, -1}, {7, 4}, {7, 77}};
  for (int i = 0; i < 6; ++i) {
    request = (void*)(uintptr_t)0x1;
    require(coll_iallreduce(driver, comm, data, data, 4, kBadTypes[i][0], kBadTypes[i][1], NULL,
                            NULL, &request) != tw_nccl_success,
            "iallreduce of type %d, op %d accepted", kBadTypes[i][0], kBadTypes[i][1]);
    require(request == NULL, "refused iallreduce leaves *request stale");
  }
}

/* Windows that cannot be: beyond the ranks' slices, off the element grid. */
static void misuse_of_windows(struct driver* driver, void* comm) {
  static char send[4096];
  static char recv[4096];
  static const struct window kBad[] = {{100, 150, 100}, {100, SIZE_MAX - 3, 8}};
  for (int i = 0; i < 2; ++i) {
    void* request = (void*)(uintptr_t)0x1;
    require(
        coll_iallgather(driver, comm, send, recv, kBad[i], NULL, NULL, &request) != tw_nccl_success,
        "impossible window %d accepted", i);
    require(request == NULL, "refused iallgather leaves *request stale");
  }
  void* request = (void*)(uintptr_t)0x1;
  const struct window odd = {100, 2, 100};
  require(coll_ireducescatter(driver, comm, send, recv, odd, tw_nccl_float32, tw_nccl_sum, NULL,
                              NULL, &request) != tw_nccl_success,
          "a window off the element grid accepted");
  require(request == NULL, "refused ireducescatter leaves *request stale");
}

static int misuse_rank(struct group* group, void* argument) {
  (void)argument;
  struct driver driver;
  struct ring ring;
  void* comm = NULL;
  start(&driver);
  misuse_before_connect(&driver);
  ring_open(&driver, group, &ring);
  require_success(coll_open(&driver, group, &comm), "CollNet connect");
  misuse_of_comms(&driver, &ring, comm);
  misuse_of_windows(&driver, comm);
  require_success(all_reduce_checked(&driver, group, comm, 100), "all-reduce after misuse");
  barrier(group);
  require_success(coll_close(&driver, comm), "closeColl");
  ring_close(&driver, &ring);
  stop(&driver);
  return 0;
}

/* Both tables name the same devices in the same order, or NCCL invents NICs. */
static int devices_rank(struct group* group, void* argument) {
  (void)group;
  (void)argument;
  struct driver driver;
  int net_count = 0;
  int coll_count = 0;
  start(&driver);
  require_success(net_devices(&driver, &net_count), "devices");
  require_success(coll_devices(&driver, &coll_count), "CollNet devices");
  require(net_count == coll_count && net_count > 0, "%d and %d devices", net_count, coll_count);
  for (int dev = 0; dev < net_count; ++dev) {
    struct device net;
    struct device coll;
    memset(&net, 0, sizeof net);
    memset(&coll, 0, sizeof coll);
    require_success(net_properties(&driver, dev, &net), "getProperties");
    require_success(coll_properties(&driver, dev, &coll), "CollNet getProperties");
    require(memcmp(&net, &coll, sizeof net) == 0, "device %d differs between the tables", dev);
    require(net.name[0] != '\0' && net.speed_mbps > 0, "device %d has no name or speed", dev);
    require(net.member_count == 1 && net.members[0] == dev, "vProps are not {1, {dev}}");
    require(net.pointer_support == tw_nccl_ptr_host, "ptrSupport %d", net.pointer_support);
    require(net.max_p2p_bytes > 0 && net.max_p2p_bytes <= tw_nccl_max_net_size_bytes &&
                net.max_coll_bytes > 0 && net.max_coll_bytes <= tw_nccl_max_net_size_bytes,
            "device %d has sizes that NCCL refuses", dev);
  }
  stop(&driver);
  return 0;
}

struct named_case {
  const char* name;
  int ranks;
  rank_function function;
};

static const struct named_case kCases[] = {
    {"abort", 2, abort_rank},           {"many", 2, many_rank},   {"flood", 2, flood_rank},
    {"truncation", 2, truncation_rank}, {"reuse", 2, reuse_rank}, {"misuse", 2, misuse_rank},
    {"devices", 1, devices_rank},
};

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: abi_behaviour LIBRARY CASE [VERSION]");
  library = argv[1];
  if (argc > 3) version = atoi(argv[3]);
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    if (strcmp(kCases[i].name, argv[2]) != 0) continue;
    run_healthy_ranks(kCases[i].ranks, kCases[i].function, NULL);
    printf("%s: ok\n", argv[2]);
    return 0;
  }
  fail("no case %s", argv[2]);
}
