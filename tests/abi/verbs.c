/* The library over a fake libibverbs: several devices merged through both tables, and messages over
 * the result. usage: abi_verbs LIBRARY VERSION */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/abi/session.h"

enum { kDevices = 4, kBytes = 9 << 20, kOther = 3 /* InfiniBand; the others are RoCE */ };

struct job {
  const char* library;
  int version;
};

static void quiet(int level, unsigned long flags, const char* file, int line, const char* format,
                  ...) {
  (void)level;
  (void)flags;
  (void)file;
  (void)line;
  (void)format;
}

static void check_counts(struct driver* driver, int net, int coll) {
  int count = -1;
  require_success(net_devices(driver, &count), "devices");
  require(count == net, "net has %d devices instead of %d", count, net);
  require_success(coll_devices(driver, &count), "CollNet devices");
  require(count == coll, "CollNet has %d devices instead of %d", count, coll);
}

static void check_refusals(struct driver* driver) {
  static const struct {
    int count;
    int members[kMaxMembers];
  } kBad[] = {{0, {0}},     {-1, {0}},    {1, {0}},         {2, {0, 0}},
              {2, {0, 99}}, {2, {-1, 1}}, {2, {0, kOther}}, {9, {0, 1, 2}}};
  for (size_t at = 0; at < sizeof kBad / sizeof *kBad; ++at) {
    int dev = 77;
    require(merge_devices(driver, driver->net_merge, kBad[at].count, kBad[at].members, &dev) !=
                tw_nccl_success,
            "bad members %zu were merged", at);
    require(dev == 77, "a refused merge wrote its index");
  }
  check_counts(driver, kDevices, kDevices);
}

/* Of fake0 to fake2, as NCCL_IB_HCA names them; the last is named none. */
static const int kRails[kDevices] = {2, 2, 2, tw_nccl_undefined};
static const int kPlanes[kDevices] = {0, 5, 5, tw_nccl_undefined};
enum { kSeveralPlanes = 16384 };

static void check_ids(const struct driver* driver, const struct device* device, int rail,
                      int plane) {
  if (driver->version < 12) rail = plane = tw_nccl_undefined;
  require(device->rail == rail, "the rail of %s is %d", device->name, device->rail);
  require(device->plane == plane, "the plane of %s is %d", device->name, device->plane);
}

static void check_rails(struct driver* driver) {
  for (int dev = 0; dev < kDevices; ++dev) {
    struct device net;
    struct device coll;
    require_success(net_properties(driver, dev, &net), "getProperties");
    require_success(coll_properties(driver, dev, &coll), "CollNet getProperties");
    check_ids(driver, &net, kRails[dev], kPlanes[dev]);
    check_ids(driver, &coll, kRails[dev], kPlanes[dev]);
  }
}

/* CollNet first, as NCCL does it. */
static void check_merge(struct driver* driver) {
  static const int kMembers[kMaxMembers] = {1, 0, 2};
  int dev = -1;
  require_success(merge_devices(driver, driver->coll_merge, 3, kMembers, &dev), "CollNet merge");
  require(dev == kDevices, "CollNet's merged device is %d", dev);
  check_counts(driver, kDevices, kDevices + 1);
  require_success(merge_devices(driver, driver->net_merge, 3, kMembers, &driver->device), "merge");
  require(driver->device == dev, "the tables differ: %d and %d", driver->device, dev);
  check_counts(driver, kDevices + 1, kDevices + 1);
  struct device net;
  struct device coll;
  struct device first;
  memset(&net, 0, sizeof net);
  memset(&coll, 0, sizeof coll);
  require_success(net_properties(driver, dev, &net), "getProperties");
  require_success(coll_properties(driver, dev, &coll), "CollNet getProperties");
  require_success(net_properties(driver, 1, &first), "getProperties");
  require(memcmp(&net, &coll, sizeof net) == 0, "the merged device differs between the tables");
  require(strcmp(net.name, "fake1+fake0+fake2") == 0, "its name is %s", net.name);
  require(net.speed_mbps == 3 * first.speed_mbps, "its speed is %d", net.speed_mbps);
  check_ids(driver, &net, kRails[0], kSeveralPlanes | 1 << 0 | 1 << 1);
  require(net.member_count == 3 && memcmp(net.members, kMembers, 3 * sizeof(int)) == 0,
          "its members are others");
  const int nested[kMaxMembers] = {dev, 2};
  require(merge_devices(driver, driver->net_merge, 2, nested, &dev) != tw_nccl_success,
          "a merged device was merged");
}

static void check_messages(struct driver* driver, struct group* group) {
  struct ring ring;
  unsigned char* out = malloc(kBytes);
  unsigned char* in = malloc(kBytes);
  void* memory[2];
  void* requests[2];
  ring_open(driver, group, &ring);
  require_success(net_reg_mr(driver, ring.send, out, kBytes, tw_nccl_ptr_host, &memory[0]),
                  "regMr");
  require_success(net_reg_mr(driver, ring.receive, in, kBytes, tw_nccl_ptr_host, &memory[1]),
                  "regMr");
  static const size_t kSizes[] = {0, 100, 50000, 1 << 20, kBytes};
  for (size_t at = 0; at < sizeof kSizes / sizeof *kSizes; ++at) {
    void* data = in;
    size_t room = kSizes[at];
    int tag = 3;
    int received = -1;
    int* sizes[2] = {&received, NULL};
    for (size_t i = 0; i < room; ++i) out[i] = (unsigned char)(i * 31 + i / 253 + at);
    require_success(
        receive_retried(driver, ring.receive, 1, &data, &room, &tag, &memory[1], &requests[0]),
        "irecv");
    require_success(send_retried(driver, ring.send, out, room, tag, memory[0], &requests[1]),
                    "isend");
    require_success(net_wait_all(driver, 2, requests, sizes), "test");
    require(received == (int)room && memcmp(in, out, room) == 0, "%zu bytes arrived wrong", room);
  }
  require_success(net_dereg_mr(driver, ring.send, memory[0]), "deregMr");
  require_success(net_dereg_mr(driver, ring.receive, memory[1]), "deregMr");
  ring_close(driver, &ring);
  free(out);
  free(in);
}

static int rank_main(struct group* group, void* argument) {
  const struct job* job = argument;
  struct driver driver;
  driver_load(&driver, job->library, job->version);
  require_success(driver_init(&driver, quiet), "init");
  check_counts(&driver, kDevices, kDevices);
  check_rails(&driver);
  if (job->version >= 9) {
    check_refusals(&driver);
    check_merge(&driver);
  }
  check_messages(&driver, group);
  driver_finalize(&driver);
  if (job->version >= 11) { /* NCCL may come back, and merges nothing again */
    require_success(driver_init(&driver, quiet), "init");
    check_counts(&driver, kDevices + 1, kDevices + 1);
    check_messages(&driver, group);
    driver_finalize(&driver);
  }
  driver_unload(&driver);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: abi_verbs LIBRARY VERSION");
  struct job job = {.library = argv[1], .version = atoi(argv[2])};
  run_healthy_ranks(1, rank_main, &job);
  printf("version %d: ok\n", job.version);
  return 0;
}
