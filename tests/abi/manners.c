/* The library as a guest in someone else's process: forks, exits, signals, leftovers.
 * usage: abi_manners LIBRARY CASE [CYCLES] */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/session.h"

enum { kVersion = 11, kBulk = 1 << 20 };

static const char* library;
static int cycles = 100;

static void start(struct driver* driver) {
  driver_load(driver, library, kVersion);
  require_success(driver_init(driver, record_log), "init");
}

/* A data loader's child exits, with and without the exit handlers; the parent goes on. */
static int fork_rank(struct group* group, void* argument) {
  (void)argument;
  struct driver driver;
  struct ring ring;
  void* comm = NULL;
  start(&driver);
  ring_open(&driver, group, &ring);
  require_success(coll_open(&driver, group, &comm), "CollNet connect");
  require_success(pass_message(&driver, group, &ring, 10), "message");
  for (int orderly = 0; orderly < 2; ++orderly) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0 && orderly) exit(0);
    if (child == 0) _exit(0);
    int status = -1;
    require(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
            "the forked child ended with %d", status);
    require_success(pass_message(&driver, group, &ring, 20 + orderly), "message");
    require_success(all_reduce_checked(&driver, group, comm, 5000), "all-reduce after fork");
  }
  barrier(group);
  require_success(coll_close(&driver, comm), "closeColl");
  ring_close(&driver, &ring);
  driver_finalize(&driver);
  driver_unload(&driver);
  return 0;
}

/* exit() with open communicators and work in flight, as a script that ends early does. */
static int exit_rank(struct group* group, void* argument) {
  (void)argument;
  static struct driver driver;
  static struct ring ring;
  static char data[kBulk];
  void* comm = NULL;
  void* request = NULL;
  start(&driver);
  ring_open(&driver, group, &ring);
  require_success(coll_open(&driver, group, &comm), "CollNet connect");
  require_success(pass_message(&driver, group, &ring, 1), "message");
  require_success(send_retried(&driver, ring.send, data, kBulk, 3, NULL, &request), "isend");
  require_success(all_reduce_retried(&driver, comm, data, data, 1000, tw_nccl_int32, tw_nccl_sum,
                                     NULL, &request),
                  "iallreduce");
  barrier(group);
  return 0;
}

/* The receiver vanishes; the sender gets an error, not a signal. */
static int pipe_rank(struct group* group, void* argument) {
  (void)argument;
  static char data[kBulk];
  struct driver driver;
  struct ring ring;
  tw_nccl_result_t result = tw_nccl_success;
  start(&driver);
  ring_open(&driver, group, &ring);
  require_success(pass_message(&driver, group, &ring, 1), "message");
  if (group->rank == 1) raise(SIGKILL);
  const double deadline = seconds_now() + kDeadlineSeconds;
  void* request = NULL;
  while (result == tw_nccl_success) {
    require(seconds_now() < deadline, "sending into nowhere never fails");
    if (request == NULL) {
      result = net_isend(&driver, ring.send, data, kBulk, 3, NULL, &request);
    } else {
      int done = 0;
      result = net_test(&driver, request, &done, NULL);
      if (done) request = NULL;
    }
    give_way();
  }
  require(result == tw_nccl_remote_error, "the lost peer is reported as %d", (int)result);
  ring_close(&driver, &ring);
  driver_finalize(&driver);
  driver_unload(&driver);
  return 0;
}

/* Communicators come and go: the process stays as it was after the first. */
static int cycles_rank(struct group* group, void* argument) {
  const bool reload = argument != NULL;
  struct driver driver;
  struct traces after_first = {0};
  const struct traces before = traces_now();
  if (!reload) driver_load(&driver, library, kVersion);
  for (int cycle = 0; cycle < cycles; ++cycle) {
    struct ring ring;
    void* comm = NULL;
    if (reload) driver_load(&driver, library, kVersion);
    require_success(driver_init(&driver, record_log), "init");
    ring_open(&driver, group, &ring);
    require_success(coll_open(&driver, group, &comm), "CollNet connect");
    require_success(pass_message(&driver, group, &ring, cycle), "message");
    require_success(all_reduce_checked(&driver, group, comm, 3000), "all-reduce");
    barrier(group);
    require_success(coll_close(&driver, comm), "closeColl");
    ring_close(&driver, &ring);
    driver_finalize(&driver);
    if (reload) driver_unload(&driver);
    if (cycle == 0) after_first = traces_now();
  }
  require_no_more_than(after_first, "after all cycles");
  require(traces_now().sockets == before.sockets, "%d sockets are left", traces_now().sockets);
  if (!reload) driver_unload(&driver);
  return 0;
}

static void run_case(const char* name) {
  if (strcmp(name, "fork") == 0) {
    run_healthy_ranks(2, fork_rank, NULL);
  } else if (strcmp(name, "exit") == 0) {
    run_healthy_ranks(2, exit_rank, NULL);
  } else if (strcmp(name, "sigpipe") == 0) {
    const struct outcome outcome = run_ranks(2, pipe_rank, NULL, -1, kDeadlineSeconds);
    require(outcome.status[0] == 0, "the sender ended with %d", outcome.status[0]);
  } else if (strcmp(name, "cycles") == 0) {
    run_healthy_ranks(2, cycles_rank, NULL);
  } else if (strcmp(name, "reload") == 0) {
    run_healthy_ranks(2, cycles_rank, "reload");
  } else {
    fail("no case %s", name);
  }
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    fail("usage: abi_manners LIBRARY fork|exit|sigpipe|cycles|reload [CYCLES]");
  }
  library = argv[1];
  if (argc == 4) cycles = atoi(argv[3]);
  require(cycles > 1, "%d cycles; accepted: 2 and more", cycles);
  run_case(argv[2]);
  printf("%s: ok\n", argv[2]);
  return 0;
}
