/* The library as a profiler among others: displaced, replayed graphs, events of every kind, wrong
 * calls, switched off, unloaded in any order.
 * usage: abi_profiler_guest LIBRARY CASE PROFILER_VERSION NET_VERSION */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nccl_abi/profiler.h"
#include "tests/abi/profiler_session.h"

static struct versions versions;

/* Another profiler in this one's place: NCCL does not call ours. */
static int displaced_rank(struct group* group, void* argument) {
  (void)argument;
  static const char* const kWords[] = {"no tensor identity", "profiler", NULL};
  struct job job;
  job_open_network(&job, &versions, group, kHash);
  require_success(coll_open(&job.driver, group, &job.comm), "CollNet connect");
  require(!logged(tw_nccl_log_info, kWords), "said before anything was asked");
  make_calls(&job, &kChain);
  require_counts(&job, 0, calls_of(&kChain), 0);
  require(logged(tw_nccl_log_info, kWords), "nothing says why there is no identity");
  job_close_comm(&job);
  job_close_network(&job);
  return 0;
}

/* Replays of a captured graph: with the handle of the capture, which is known for a while, and
 * without any. */
static int graph_rank(struct group* group, void* argument) {
  (void)argument;
  static const char* const kWords[] = {"tensor identity is off", "graph", NULL};
  struct job job;
  job_open(&job, &versions, group, kHash, kRanks);
  void* captured = start_collective(&job, &kChain, "AllReduce");
  const uint64_t calls = calls_of(&kChain);
  for (int i = 0; i < 3; ++i) {
    start_parts(&job, captured, &kChain);
    make_calls(&job, &kChain);
  }
  require_counts(&job, 3 * calls, 0, 0);
  start_parts(&job, NULL, &kChain);
  make_calls(&job, &kChain);
  profiled_all_reduce(&job, &kChain);
  require_counts(&job, 3 * calls, 2 * calls, 1);
  require(logged(tw_nccl_log_warn, kWords), "no warning");
  job_close(&job);
  return 0;
}

/* Events of every other kind, collectives that are none of CollNet's, parts of other processes. */
static int extra_rank(struct group* group, void* argument) {
  (void)argument;
  struct job job;
  struct tensor ring = kChain;
  ring.algorithm = "RING";
  job_open(&job, &versions, group, kHash, kRanks);
  for (int i = 0; i < 3; ++i) {
    profiler_noise(&job.profiler, job.context);
    void* handle = start_collective(&job, &kChain, "AllReduce");
    profiler_noise(&job.profiler, job.context);
    start_parts(&job, start_collective(&job, &kChain, "AllGather"), &kChain);
    start_parts(&job, start_collective(&job, &ring, "AllReduce"), &ring);
    start_parts(&job, profiler_other(&job.profiler, job.context, tw_nccl_profile_p2p), &kChain);
    struct part part = {.parent = &part, .pid = getppid(), .steps = 1, .chunk_bytes = 1};
    profiler_part(&job.profiler, job.context, &part); /* PXN */
    part =
        (struct part){.parent = NULL, .pid = getpid(), .steps = 1, .chunk_bytes = 1, .is_send = 1};
    profiler_part(&job.profiler, job.context, &part);
    start_parts(&job, handle, &kChain);
    profiler_noise(&job.profiler, job.context);
    make_calls(&job, &kChain);
  }
  require_counts(&job, 3 * calls_of(&kChain), 0, 0);
  job_close(&job);
  return 0;
}

/* A call that does not fit what was announced: identity is off, the sums stay right. */
static int mismatch_rank(struct group* group, void* argument) {
  (void)argument;
  static const char* const kWords[] = {"tensor identity is off", "length differs", NULL};
  static float staging[kChunkFloats];
  struct job job;
  job_open(&job, &versions, group, kHash, kRanks);
  profiled_all_reduce(&job, &kChain);
  start_parts(&job, start_collective(&job, &kChain, "AllReduce"), &kChain);
  call_once(&job, staging, 1234);
  make_calls(&job, &kChain);
  profiled_all_reduce(&job, &kChain);
  require_counts(&job, calls_of(&kChain), 1 + 2 * calls_of(&kChain), 1);
  require(logged(tw_nccl_log_warn, kWords), "no warning");
  job_close(&job);
  return 0;
}

/* Nobody wants it: no event is asked for, and there is no context to finalize. */
static int off_rank(struct group* group, void* argument) {
  (void)argument;
  struct job job;
  int mask = -1;
  setenv("THINWIRE_COMPRESS", "none", 1);
  job_open_network(&job, &versions, group, kHash);
  profiler_load(&job.profiler, versions.library, versions.profiler);
  require_success(profiler_init(&job.profiler, &job.context, &mask, (struct communicator){0}),
                  "profiler init");
  require(mask == 0, "event mask %#x", mask);
  require_success(coll_open(&job.driver, group, &job.comm), "CollNet connect");
  make_calls(&job, &kChain);
  require_counts(&job, 0, 0, 0);
  job_close(&job);
  return 0;
}

/* Every order in which NCCL may take the two plugins down, twice each: nothing stays. */
static int reload_rank(struct group* group, void* argument) {
  (void)argument;
  const struct traces before = traces_now();
  for (int life = 0; life < 6; ++life) {
    struct job job;
    job_open(&job, &versions, group, kHash, kRanks);
    profiled_all_reduce(&job, &kChain);
    start_parts(&job, start_collective(&job, &kChain, "AllReduce"), &kChain); /* never made */
    require_counts(&job, calls_of(&kChain), 0, 0);
    if (life % 3 == 0) job_close_profiler(&job);
    job_close_comm(&job);
    if (life % 3 == 1) job_close_profiler(&job);
    job_close_network(&job);
    if (life % 3 == 2) job_close_profiler(&job);
    require(mapped_parts("libnccl-net-thinwire") == 0, "still mapped after dlclose");
    barrier(group);
  }
  require_no_more_than(before, "after dlclose");
  return 0;
}

/* NCCL 2.23 to 2.27 open the profiler by another name, a link to the same file. */
static int link_rank(struct group* group, void* argument) {
  (void)argument;
  char folder[] = "/tmp/thinwire-profiler-XXXXXX";
  char name[256];
  char target[4096];
  struct job job;
  require(mkdtemp(folder) != NULL && realpath(versions.library, target) != NULL, "no folder");
  snprintf(name, sizeof name, "%s/libnccl-profiler-thinwire.so", folder);
  require(symlink(target, name) == 0, "no link");
  const struct versions linked = {name, versions.profiler, versions.net};
  job_open_network(&job, &versions, group, kHash);
  job.versions = &linked;
  job_open_profiler(&job, kRanks);
  unlink(name);
  rmdir(folder);
  require_success(coll_open(&job.driver, group, &job.comm), "CollNet connect");
  profiled_all_reduce(&job, &kChain);
  require_counts(&job, calls_of(&kChain), 0, 0);
  job_close(&job);
  return 0;
}

int main(int argc, char** argv) {
  static const struct profiler_case kCases[] = {{"displaced", displaced_rank},
                                                {"graph", graph_rank},
                                                {"extra", extra_rank},
                                                {"mismatch", mismatch_rank},
                                                {"off", off_rank},
                                                {"reload", reload_rank},
                                                {"link", link_rank}};
  return run_profiler_case(argc, argv, kCases, sizeof kCases / sizeof *kCases, &versions);
}
