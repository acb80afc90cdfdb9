/* Ranks that die, stop, come late or do not come at all; the others must notice in bounded time,
 * or not mind. The timeouts are the environment's (THINWIRE_PEER_TIMEOUT_S and the like).
 * usage: abi_kill LIBRARY CASE BOUND_S: an error must come within BOUND_S; for `late`, how late */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/abi/session.h"

enum { kVersion = 12, kRanks = 4, kVictim = 2, kElements = 200000, kWarmUps = 5 };

struct job {
  const char* library;
  const char* name;
  double bound_s;
};

static void start(struct driver* driver, const struct job* job) {
  driver_load(driver, job->library, kVersion);
  require_success(driver_init(driver, record_log), "init");
}

static void stop(struct driver* driver) {
  driver_finalize(driver);
  driver_unload(driver);
}

static void sleep_seconds(double seconds) {
  const time_t whole = (time_t)seconds;
  const struct timespec length = {whole, (long)((seconds - (double)whole) * 1e9)};
  nanosleep(&length, NULL);
}

/* All-reduces until an error comes. */
static tw_nccl_result_t reduce_until_error(struct driver* driver, void* comm, double bound_s) {
  static int32_t values[kElements];
  const double deadline = seconds_now() + bound_s;
  tw_nccl_result_t result = tw_nccl_success;
  void* request = NULL;
  while (result == tw_nccl_success) {
    require(seconds_now() < deadline, "no error %g s after a rank was lost", bound_s);
    if (request == NULL) {
      result = coll_iallreduce(driver, comm, values, values, kElements, tw_nccl_int32, tw_nccl_sum,
                               NULL, NULL, &request);
    } else {
      int done = 0;
      result = coll_test(driver, request, &done, NULL);
      if (done) request = NULL;
    }
    give_way();
  }
  return result;
}

/* One rank is killed or stopped in the middle of the job: ncclRemoteError for the others, again on
 * the next call, and everything can be closed. */
static int loss_rank(struct group* group, void* argument) {
  const struct job* job = argument;
  struct driver driver;
  void* comm = NULL;
  void* request = NULL;
  int32_t value = 0;
  start(&driver, job);
  require_success(coll_open(&driver, group, &comm), "CollNet connect");
  for (int i = 0; i < kWarmUps; ++i) {
    require_success(all_reduce_checked(&driver, group, comm, kElements), "all-reduce");
  }
  barrier(group);
  if (group->rank == kVictim) raise(strcmp(job->name, "sigstop") == 0 ? SIGSTOP : SIGKILL);
  const double begin = seconds_now();
  const tw_nccl_result_t result = reduce_until_error(&driver, comm, job->bound_s);
  require(result == tw_nccl_remote_error, "the lost rank is reported as %d", (int)result);
  fprintf(stderr, "rank %d: noticed after %.2f s\n", group->rank, seconds_now() - begin);
  require(coll_iallreduce(&driver, comm, &value, &value, 1, tw_nccl_int32, tw_nccl_sum, NULL, NULL,
                          &request) == tw_nccl_remote_error,
          "a failed communicator works again");
  require_success(coll_close(&driver, comm), "closeColl");
  stop(&driver);
  return 0;
}

/* A rank that calls late, by more than every timeout, is waited for. */
static int late_rank(struct group* group, void* argument) {
  const struct job* job = argument;
  struct driver driver;
  struct ring ring;
  void* comm = NULL;
  start(&driver, job);
  ring_open(&driver, group, &ring);
  require_success(coll_open(&driver, group, &comm), "CollNet connect");
  require_success(all_reduce_checked(&driver, group, comm, 1000), "all-reduce");
  if (group->rank == kVictim) sleep_seconds(job->bound_s);
  require_success(all_reduce_checked(&driver, group, comm, kElements), "late all-reduce");
  barrier(group);
  require_success(coll_close(&driver, comm), "closeColl");
  ring_close(&driver, &ring);
  stop(&driver);
  return 0;
}

/* One rank does not take part in CollNet connect: it is silent, dead, or has closed its listener.
 * All others fail, none hangs. */
static int absent_rank(struct group* group, void* argument) {
  const struct job* job = argument;
  struct driver driver;
  char handle[tw_nccl_handle_bytes] = {0};
  char handles[kMaxRanks][tw_nccl_handle_bytes];
  void* pointers[kMaxRanks];
  void* listen = NULL;
  void* comm = NULL;
  start(&driver, job);
  require_success(coll_listen(&driver, 0, handle, &listen), "CollNet listen");
  exchange(group, handle, sizeof handle, handles);
  for (int rank = 0; rank < group->ranks; ++rank) pointers[rank] = handles[rank];
  if (group->rank == kVictim) {
    if (strcmp(job->name, "dead") == 0) raise(SIGKILL);
    if (strcmp(job->name, "refusing") == 0) {
      require_success(coll_close_listen(&driver, listen), "CollNet closeListen");
    }
    for (;;) pause();
  }
  const double begin = seconds_now();
  const tw_nccl_result_t result =
      coll_connect(&driver, pointers, group->ranks, group->rank, listen, &comm);
  const double took = seconds_now() - begin;
  require(result == tw_nccl_remote_error, "connect without rank %d returned %d", kVictim,
          (int)result);
  require(took < job->bound_s, "connect took %.1f s to fail", took);
  stop(&driver);
  return 0;
}

/* One rank has no descriptor left when it listens: listen must not fail there alone, or NCCL
 * hangs; connect fails on all ranks instead. */
static int poison_rank(struct group* group, void* argument) {
  const struct job* job = argument;
  struct driver driver;
  char handle[tw_nccl_handle_bytes] = {0};
  char handles[kMaxRanks][tw_nccl_handle_bytes];
  void* pointers[kMaxRanks];
  void* listen = NULL;
  void* comm = NULL;
  struct rlimit limit;
  start(&driver, job);
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t usual = limit.rlim_cur;
  limit.rlim_cur = group->rank == kVictim ? 3 : usual;
  setrlimit(RLIMIT_NOFILE, &limit);
  require_success(coll_listen(&driver, 0, handle, &listen), "CollNet listen without descriptors");
  limit.rlim_cur = usual;
  setrlimit(RLIMIT_NOFILE, &limit);
  exchange(group, handle, sizeof handle, handles);
  for (int rank = 0; rank < group->ranks; ++rank) pointers[rank] = handles[rank];
  const double begin = seconds_now();
  require(
      coll_connect(&driver, pointers, group->ranks, group->rank, listen, &comm) != tw_nccl_success,
      "connected although rank %d cannot listen", kVictim);
  const double took = seconds_now() - begin;
  require(took < job->bound_s, "connect took %.1f s to fail", took);
  stop(&driver);
  return 0;
}

static rank_function function_of(const char* name) {
  if (strcmp(name, "poison") == 0) return poison_rank;
  if (strcmp(name, "sigkill") == 0 || strcmp(name, "sigstop") == 0) return loss_rank;
  if (strcmp(name, "late") == 0) return late_rank;
  if (strcmp(name, "silent") == 0 || strcmp(name, "dead") == 0 || strcmp(name, "refusing") == 0) {
    return absent_rank;
  }
  fail("no case %s", name);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fail("usage: abi_kill LIBRARY sigkill|sigstop|late|poison|silent|dead|refusing BOUND_S");
  }
  struct job job = {.library = argv[1], .name = argv[2], .bound_s = atof(argv[3])};
  const rank_function function = function_of(job.name);
  const int victim = function == late_rank || function == poison_rank ? -1 : kVictim;
  const int seconds = kDeadlineSeconds + (int)job.bound_s;
  const struct outcome outcome = run_ranks(kRanks, function, &job, victim, seconds);
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == victim) continue;
    require(outcome.status[rank] == 0, "rank %d ended with %d", rank, outcome.status[rank]);
  }
  printf("%s: ok\n", job.name);
  return 0;
}
