/* Ranks of one host that share memory: several communicators and many operations at once, what is
 * counted, what is left behind. usage: abi_near LIBRARY together|left|killed|off */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/thinwire.h"
#include "tests/abi/profiler_session.h"
#include "tests/abi/session.h"

enum { kVersion = 12, kLocalRanks = 4, kComms = 4, kOperations = 64, kMostElements = 70000 };

/* What the segments are called in /proc/self/maps. */
static const char kSegments[] = "memfd:thinwire";
static const char* library;

static void start(struct driver* driver) {
  driver_load(driver, library, kVersion);
  require_success(driver_init(driver, record_log), "init");
}

static void stop(struct driver* driver) {
  driver_finalize(driver);
  driver_unload(driver);
}

static size_t elements_of(int operation) {
  return 1 + (size_t)operation * (size_t)operation * (kMostElements - 1) /
                 ((kOperations - 1) * (kOperations - 1));
}

/* kOperations sums in flight, dealt out to the communicators, each checked. */
static void reduce_together(struct driver* driver, struct group* group, void** comms) {
  static int32_t values[kOperations][kMostElements];
  void* requests[kOperations];
  for (int i = 0; i < kOperations; ++i) {
    for (size_t k = 0; k < elements_of(i); ++k) {
      values[i][k] = (int32_t)(k % 1000) + group->rank + i;
    }
    require_success(
        all_reduce_retried(driver, comms[i % kComms], values[i], values[i], elements_of(i),
                           tw_nccl_int32, tw_nccl_sum, NULL, &requests[i]),
        "iallreduce");
  }
  const int ranks = group->ranks;
  for (int i = 0; i < kOperations; ++i) {
    require_success(coll_wait(driver, requests[i], NULL), "test");
    for (size_t k = 0; k < elements_of(i); ++k) {
      const int32_t expected = ((int32_t)(k % 1000) + i) * ranks + ranks * (ranks - 1) / 2;
      require(values[i][k] == expected, "element %zu of sum %d is %d, not %d", k, i, values[i][k],
              expected);
    }
  }
}

static int together_rank(struct group* group, void* argument) {
  const bool shared = argument == NULL;
  struct driver driver;
  void* comms[kComms];
  start(&driver);
  for (int i = 0; i < kComms; ++i) {
    require_success(coll_open(&driver, group, &comms[i]), "CollNet connect");
  }
  const uint64_t before = counters_of(&driver).bytes_sent;
  reduce_together(&driver, group, comms);
  const thinwire_counters_v1_t counters = counters_of(&driver);
  const uint64_t network = counters.bytes_sent - before;
  require(
      shared ? counters.near_bytes > 0 && network == 0 : counters.near_bytes == 0 && network > 0,
      "%llu bytes through shared memory, %llu over the network",
      (unsigned long long)counters.near_bytes, (unsigned long long)network);
  require((mapped_parts(kSegments) > 0) == shared, "%d segments are mapped",
          mapped_parts(kSegments));
  barrier(group);
  for (int i = 0; i < kComms; ++i) require_success(coll_close(&driver, comms[i]), "closeColl");
  require(mapped_parts(kSegments) == 0, "%d segments are left", mapped_parts(kSegments));
  stop(&driver);
  return 0;
}

/* The library comes and goes, closed while it is reducing: no thread, descriptor or mapping stays.
 */
static int left_rank(struct group* group, void* argument) {
  (void)argument;
  static int32_t values[kMostElements];
  const struct traces before = traces_now();
  for (int cycle = 0; cycle < 3; ++cycle) {
    struct driver driver;
    void* comm = NULL;
    void* request = NULL;
    start(&driver);
    require_success(coll_open(&driver, group, &comm), "CollNet connect");
    require_success(all_reduce_checked(&driver, group, comm, kMostElements), "all-reduce");
    if (group->rank != 0) {
      require_success(all_reduce_retried(&driver, comm, values, values, kMostElements,
                                         tw_nccl_int32, tw_nccl_sum, NULL, &request),
                      "iallreduce");
    }
    barrier(group);
    require_success(coll_close(&driver, comm), "closeColl while reducing");
    stop(&driver);
    require_no_more_than(before, "after unloading");
    require(mapped_parts(kSegments) == 0, "%d segments are left", mapped_parts(kSegments));
  }
  return 0;
}

static int doomed_rank(struct group* group, void* argument) {
  (void)argument;
  struct driver driver;
  void* comm = NULL;
  start(&driver);
  require_success(coll_open(&driver, group, &comm), "CollNet connect");
  require_success(all_reduce_checked(&driver, group, comm, kMostElements), "all-reduce");
  barrier(group);
  raise(SIGKILL);
  return 0;
}

static int shared_files(void) {
  int count = 0;
  const struct dirent* entry;
  DIR* folder = opendir("/dev/shm");
  if (folder == NULL) return 0;
  while ((entry = readdir(folder)) != NULL) count += strstr(entry->d_name, "thinwire") != NULL;
  closedir(folder);
  return count;
}

static int local_sockets(void) {
  char line[512];
  int count = 0;
  FILE* sockets = fopen("/proc/net/unix", "r");
  if (sockets == NULL) return 0;
  while (fgets(line, sizeof line, sockets) != NULL) count += strstr(line, "@thinwire-") != NULL;
  fclose(sockets);
  return count;
}

/* Every rank is killed: the host is as it was, once other tests that share it are done. */
static void killed(void) {
  const int files = shared_files();
  const int sockets = local_sockets();
  const struct outcome outcome = run_ranks(kLocalRanks, doomed_rank, NULL, -1, kDeadlineSeconds);
  for (int rank = 0; rank < kLocalRanks; ++rank) {
    require(outcome.status[rank] == 128 + SIGKILL, "rank %d ended with %d", rank,
            outcome.status[rank]);
  }
  const double deadline = seconds_now() + kDeadlineSeconds;
  while (shared_files() > files || local_sockets() > sockets) {
    require(seconds_now() < deadline, "%d files in /dev/shm, before %d; %d sockets, before %d",
            shared_files(), files, local_sockets(), sockets);
    give_way();
  }
}

int main(int argc, char** argv) {
  if (argc != 3) fail("usage: abi_near LIBRARY together|left|killed|off");
  library = argv[1];
  if (strcmp(argv[2], "together") == 0) {
    run_healthy_ranks(kLocalRanks, together_rank, NULL);
  } else if (strcmp(argv[2], "off") == 0) {
    run_healthy_ranks(kLocalRanks, together_rank, argv[2]);
  } else if (strcmp(argv[2], "left") == 0) {
    run_healthy_ranks(kLocalRanks, left_rank, NULL);
  } else if (strcmp(argv[2], "killed") == 0) {
    killed();
  } else {
    fail("no case %s", argv[2]);
  }
  printf("%s: ok\n", argv[2]);
  return 0;
}
