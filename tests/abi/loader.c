/* The library through one version of its tables, between two processes: point-to-point and
 * collectives with verified payloads; then it is unloaded without a trace and loaded again.
 * usage: abi_loader LIBRARY VERSION */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/abi/session.h"

enum { kBuffer = 6 << 20, kGroup = 8, kInFlight = 64 };

struct job {
  const char* library;
  int version;
};

static unsigned char pattern(size_t at, int seed) {
  return (unsigned char)(at * 131 + at / 251 + (size_t)seed * 17);
}

static void fill(unsigned char* data, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; ++i) data[i] = pattern(i, seed);
}

static void require_pattern(const unsigned char* data, size_t bytes, int seed, const char* what) {
  for (size_t i = 0; i < bytes; ++i) {
    require(data[i] == pattern(i, seed), "%s: byte %zu of %zu is wrong", what, i, bytes);
  }
}

/* Everyone sends to the next and receives from the previous rank, in a buffer that is larger. */
static void check_sizes(struct driver* driver, struct group* group, struct ring* ring,
                        unsigned char* out, unsigned char* in, void* out_handle, void* in_handle) {
  static const size_t kSizes[] = {0, 1, 13, 4096, 65543, 1 << 20, (4 << 20) + 3};
  const int previous = (group->rank + group->ranks - 1) % group->ranks;
  for (size_t at = 0; at < sizeof kSizes / sizeof *kSizes; ++at) {
    const size_t bytes = kSizes[at];
    void* data = in;
    size_t room = bytes + 64;
    int tag = 7;
    void* requests[2];
    int sent = -1;
    int received = -1;
    int* sizes[2] = {&received, at % 2 == 0 ? &sent : NULL};
    fill(out, bytes, group->rank + (int)at);
    memset(in, 0xee, room);
    require_success(
        receive_retried(driver, ring->receive, 1, &data, &room, &tag, &in_handle, &requests[0]),
        "irecv");
    require_success(send_retried(driver, ring->send, out, bytes, tag, out_handle, &requests[1]),
                    "isend");
    require_success(net_wait_all(driver, 2, requests, sizes), "test");
    require(received == (int)bytes, "received %d of %zu", received, bytes);
    require(at % 2 == 1 || sent == (int)bytes, "sent %d of %zu", sent, bytes);
    require_pattern(in, bytes, previous + (int)at, "message");
    require(in[bytes] == 0xee, "wrote behind a message of %zu", bytes);
  }
}

/* One irecv for several tags, sent in another order; sizes come back in posted order. */
static void check_grouped(struct driver* driver, struct group* group, struct ring* ring, int n,
                          unsigned char* out, unsigned char* in, void* out_handle,
                          void* in_handle) {
  void* data[kGroup];
  size_t room[kGroup];
  int tags[kGroup];
  void* handles[kGroup];
  void* requests[1 + kGroup];
  int sizes[kGroup];
  int* size_slots[1 + kGroup] = {sizes};
  const int previous = (group->rank + group->ranks - 1) % group->ranks;
  const size_t stride = 70000;
  memset(in, 0xee, stride * (size_t)n);
  for (int i = 0; i < n; ++i) {
    data[i] = in + stride * (size_t)i;
    room[i] = stride;
    tags[i] = 100 + i;
    handles[i] = in_handle;
  }
  require_success(
      receive_retried(driver, ring->receive, n, data, room, tags, handles, &requests[0]),
      "grouped irecv");
  for (int i = n - 1; i >= 0; --i) {
    const size_t bytes = (size_t)i * 9000;
    fill(out + stride * (size_t)i, bytes, group->rank + i);
    require_success(send_retried(driver, ring->send, out + stride * (size_t)i, bytes, tags[i],
                                 out_handle, &requests[1 + i]),
                    "isend");
  }
  require_success(net_wait_all(driver, 1 + n, requests, size_slots), "test");
  for (int i = 0; i < n; ++i) {
    require(sizes[i] == i * 9000, "part %d received %d", i, sizes[i]);
    require_pattern(data[i], (size_t)sizes[i], previous + i, "part of a group");
  }
}

static void check_flush(struct driver* driver, struct ring* ring, void* data, void* handle) {
  void* request = NULL;
  int bytes = 64;
  require_success(net_iflush(driver, ring->receive, 1, &data, &bytes, &handle, &request), "iflush");
  if (request != NULL) require_success(net_wait(driver, request, NULL), "test of a flush");
}

static void check_net(struct driver* driver, struct group* group) {
  struct ring ring;
  struct device device;
  void* out_handle = NULL;
  void* in_handle = NULL;
  unsigned char* out = malloc(kBuffer);
  unsigned char* in = malloc(kBuffer);
  require_success(net_properties(driver, 0, &device), "getProperties");
  require(device.max_receives >= 1, "maxRecvs %d", device.max_receives);
  ring_open(driver, group, &ring);
  require_success(net_reg_mr(driver, ring.send, out, kBuffer, tw_nccl_ptr_host, &out_handle),
                  "regMr");
  require_success(net_reg_mr(driver, ring.receive, in, kBuffer, tw_nccl_ptr_host, &in_handle),
                  "regMr");
  check_sizes(driver, group, &ring, out, in, out_handle, in_handle);
  const int n = device.max_receives < kGroup ? device.max_receives : kGroup;
  for (int i = 1; i <= n; ++i) {
    check_grouped(driver, group, &ring, i, out, in, out_handle, in_handle);
  }
  check_flush(driver, &ring, in, in_handle);
  require_success(net_dereg_mr(driver, ring.send, out_handle), "deregMr");
  require_success(net_dereg_mr(driver, ring.receive, in_handle), "deregMr");
  barrier(group);
  ring_close(driver, &ring);
  free(out);
  free(in);
}

/* Floats that add up exactly; out of place, then in place. */
static void check_all_reduce(struct driver* driver, struct group* group, void* comm, float* send,
                             float* recv) {
  static const size_t kCounts[] = {0, 1, 2, 1000, 8192, 300007};
  for (size_t at = 0; at < 2 * sizeof kCounts / sizeof *kCounts; ++at) {
    const size_t count = kCounts[at / 2];
    float* target = at % 2 == 0 ? recv : send;
    void* request = NULL;
    int size = -1;
    for (size_t i = 0; i < count; ++i) send[i] = (float)(i % 4096) + (float)group->rank;
    require_success(all_reduce_retried(driver, comm, send, target, count, tw_nccl_float32,
                                       tw_nccl_sum, NULL, &request),
                    "iallreduce");
    require_success(coll_wait(driver, request, &size), "test of iallreduce");
    require(size == (int)(count * sizeof(float)), "size %d of %zu floats", size, count);
    const int ranks = group->ranks;
    for (size_t i = 0; i < count; ++i) {
      const float expected = (float)(i % 4096) * (float)ranks + (float)(ranks * (ranks - 1) / 2);
      require(target[i] == expected, "float %zu of %zu is %g", i, count, (double)target[i]);
    }
  }
}

static void check_in_flight(struct driver* driver, struct group* group, void* comm) {
  int64_t values[kInFlight];
  void* requests[kInFlight];
  for (int i = 0; i < kInFlight; ++i) {
    values[i] = i * 10 + group->rank;
    require_success(all_reduce_retried(driver, comm, &values[i], &values[i], 1, tw_nccl_int64,
                                       tw_nccl_max, NULL, &requests[i]),
                    "iallreduce");
  }
  for (int i = 0; i < kInFlight; ++i) {
    require_success(coll_wait(driver, requests[i], NULL), "test of iallreduce");
    require(values[i] == i * 10 + group->ranks - 1, "maximum %d is %ld", i, (long)values[i]);
  }
}

static const struct window kWindows[] = {
    {1200, 0, 2400}, {1200, 300, 1500}, {1200, 1300, 700}, {1000, 0, 400}, {40000, 8, 79984}};

/* What of `window` lies in rank's slice, as begin and end in the vector of all slices. */
static void own_range(struct window window, int rank, size_t* begin, size_t* end) {
  const size_t slice = (size_t)rank * window.bytes_per_rank;
  const size_t stop = window.offset + window.bytes;
  *begin = window.offset > slice ? window.offset : slice;
  *end = stop < slice + window.bytes_per_rank ? stop : slice + window.bytes_per_rank;
  if (*end < *begin) *end = *begin;
}

static void check_all_gather(struct driver* driver, struct group* group, void* comm,
                             unsigned char* send, unsigned char* recv) {
  for (size_t at = 0; at < sizeof kWindows / sizeof *kWindows; ++at) {
    const struct window window = kWindows[at];
    void* request = NULL;
    size_t begin;
    size_t end;
    own_range(window, group->rank, &begin, &end);
    for (size_t i = begin; i < end; ++i) send[i - begin] = pattern(i, (int)at);
    memset(recv, 0xee, window.bytes + 1);
    do {
      require_success(coll_iallgather(driver, comm, send, recv, window, NULL, NULL, &request),
                      "iallgather");
    } while (request == NULL);
    require_success(coll_wait(driver, request, NULL), "test of iallgather");
    for (size_t i = 0; i < window.bytes; ++i) {
      require(recv[i] == pattern(window.offset + i, (int)at), "gathered byte %zu is wrong", i);
    }
    require(recv[window.bytes] == 0xee, "iallgather wrote behind the window");
  }
}

static void check_reduce_scatter(struct driver* driver, struct group* group, void* comm,
                                 int32_t* send, int32_t* recv) {
  for (size_t at = 0; at < sizeof kWindows / sizeof *kWindows; ++at) {
    const struct window window = kWindows[at];
    const int ranks = group->ranks;
    const size_t first = window.offset / sizeof *send;
    void* request = NULL;
    size_t begin;
    size_t end;
    own_range(window, group->rank, &begin, &end);
    for (size_t i = 0; i < window.bytes / sizeof *send; ++i) {
      send[i] = (int32_t)(first + i) * (group->rank + 1);
    }
    memset(recv, 0xee, end - begin + sizeof *recv);
    do {
      require_success(coll_ireducescatter(driver, comm, send, recv, window, tw_nccl_int32,
                                          tw_nccl_sum, NULL, NULL, &request),
                      "ireducescatter");
    } while (request == NULL);
    require_success(coll_wait(driver, request, NULL), "test of ireducescatter");
    const size_t count = (end - begin) / sizeof *recv;
    for (size_t i = 0; i < count; ++i) {
      const int32_t expected = (int32_t)(begin / sizeof *recv + i) * (ranks * (ranks + 1) / 2);
      require(recv[i] == expected, "scattered element %zu is %d", i, recv[i]);
    }
    require(((unsigned char*)&recv[count])[0] == 0xee, "ireducescatter wrote behind its piece");
  }
}

static void check_coll(struct driver* driver, struct group* group) {
  void* comm = NULL;
  void* handle = NULL;
  void* request = NULL;
  int supported = 0;
  char* buffer = malloc(kBuffer);
  require_success(coll_reduce_support(driver, tw_nccl_float32, tw_nccl_sum, &supported),
                  "reduceSupport");
  require(supported == 1, "no sum of floats");
  require_success(coll_open(driver, group, &comm), "CollNet connect");
  require_success(coll_reg_mr(driver, comm, buffer, kBuffer, tw_nccl_ptr_host, &handle),
                  "CollNet regMr");
  void* half = buffer + kBuffer / 2;
  check_all_reduce(driver, group, comm, (float*)buffer, half);
  check_in_flight(driver, group, comm);
  if (driver_gathers(driver)) {
    check_all_gather(driver, group, comm, (unsigned char*)buffer, half);
    check_reduce_scatter(driver, group, comm, (int32_t*)buffer, half);
  }
  require_success(coll_iflush(driver, comm, buffer, 64, handle, &request), "CollNet iflush");
  if (request != NULL) require_success(coll_wait(driver, request, NULL), "test of a flush");
  require_success(coll_dereg_mr(driver, comm, handle), "CollNet deregMr");
  barrier(group);
  require_success(coll_close(driver, comm), "closeColl");
  free(buffer);
}

/* Loads, uses and unloads; nothing may stay. */
static void one_life(const struct job* job, struct group* group) {
  struct driver driver;
  int devices = 0;
  const struct traces before = traces_now();
  driver_load(&driver, job->library, job->version);
  require_success(driver_init(&driver, record_log), "init");
  require_success(net_devices(&driver, &devices), "devices");
  require(devices > 0, "no device");
  check_net(&driver, group);
  check_coll(&driver, group);
  driver_finalize(&driver);
  require(mapped_parts("libnccl-net-thinwire") > 0, "the library is not mapped by its name");
  driver_unload(&driver);
  require_no_more_than(before, "after dlclose");
  require(mapped_parts("libnccl-net-thinwire") == 0, "still mapped after dlclose");
}

static int rank_main(struct group* group, void* argument) {
  const struct job* job = argument;
  one_life(job, group);
  barrier(group);
  one_life(job, group);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: abi_loader LIBRARY VERSION");
  struct job job = {.library = argv[1], .version = atoi(argv[2])};
  run_healthy_ranks(2, rank_main, &job);
  printf("version %d: ok\n", job.version);
  return 0;
}
