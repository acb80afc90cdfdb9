/* The library as NCCL's profiler and CollNet at once: NCCL's sequences of events and calls. What
 * was identified is read from the counters, and every sum is verified.
 * usage: abi_profiler LIBRARY CASE PROFILER_VERSION NET_VERSION */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/abi/profiler_session.h"

enum { kMostCalls = 512 };

static struct versions versions;

static int channels_rank(struct group* group, void* argument) {
  static const int kChannels[] = {1, 2, 8, 9, 20};
  static const size_t kCounts[] = {1, 8192, 100003};
  (void)argument;
  struct job job;
  uint64_t calls = 0;
  job_open(&job, &versions, group, kHash, kRanks);
  for (size_t i = 0; i < sizeof kChannels / sizeof *kChannels; ++i) {
    struct tensor tensors[3];
    for (int at = 0; at < 3; ++at) {
      tensors[at] = kChain;
      tensors[at].count = kCounts[at];
      tensors[at].channels = kChannels[i];
      start_parts(&job, start_collective(&job, &tensors[at], "AllReduce"), &tensors[at]);
    }
    for (int at = 0; at < 3; ++at) {
      make_calls(&job, &tensors[at]);
      calls += calls_of(&tensors[at]);
    }
  }
  require_counts(&job, calls, 0, 0);
  job_close(&job);
  return 0;
}

/* Posts without testing until one is refused: a refusal takes nothing. */
static int refused_rank(struct group* group, void* argument) {
  (void)argument;
  struct job job;
  void* requests[kMostCalls];
  struct tensor tensor = kChain;
  tensor.channels = 1;
  tensor.count = (size_t)kMostCalls * kChunkFloats - 5;
  float* data = calloc(kMostCalls, kChunkBytes);
  job_open(&job, &versions, group, kHash, kRanks);
  start_parts(&job, start_collective(&job, &tensor, "AllReduce"), &tensor);
  int posted = 0;
  int tested = 0;
  int refusals = 0;
  while (posted < kMostCalls) {
    float* at = data + (size_t)posted * kChunkFloats;
    requests[posted] = NULL;
    require_success(coll_iallreduce(&job.driver, job.comm, at, at, kChunkFloats, tw_nccl_float32,
                                    tw_nccl_sum, NULL, NULL, &requests[posted]),
                    "iallreduce");
    if (requests[posted] != NULL) {
      ++posted;
    } else {
      ++refusals;
      require(tested < posted, "refused with nothing in flight");
      require_success(coll_wait(&job.driver, requests[tested++], NULL), "test");
    }
  }
  while (tested < posted) require_success(coll_wait(&job.driver, requests[tested++], NULL), "test");
  require(refusals > 0, "nothing was refused");
  require_counts(&job, kMostCalls, 0, 0);
  job_close(&job);
  free(data);
  return 0;
}

/* Calls of two communicators take turns on one thread. */
static int two_rank(struct group* group, void* argument) {
  static float staging[kGroupChannels * kChunkFloats];
  (void)argument;
  struct job jobs[2];
  const bool named = versions.net >= 11;
  const uint64_t calls = calls_of(&kChain);
  for (int i = 0; i < 2; ++i) job_open(&jobs[i], &versions, group, kHash + (uint64_t)i, kRanks);
  for (int i = 0; i < 2; ++i) {
    start_parts(&jobs[i], start_collective(&jobs[i], &kChain, "AllReduce"), &kChain);
  }
  for (int step = 0; step < steps_of(&kChain); ++step) {
    for (int at = 0; at < groups_of(&kChain); ++at) {
      for (int i = 0; i < 2; ++i) call_once(&jobs[i], staging, call_count(&kChain, at));
    }
  }
  require_counts(&jobs[0], named ? 2 * calls : 0, named ? 0 : 2 * calls, named ? 0 : 2);
  for (int i = 0; i < 2; ++i) job_close(&jobs[i]);
  return 0;
}

/* Four ranks on two nodes, two heads each: where the tensor ends is not known. */
static int heads_rank(struct group* group, void* argument) {
  (void)argument;
  struct job job;
  struct tensor tensor = kChain;
  tensor.algorithm = "COLLNET_DIRECT";
  tensor.heads = 2;
  job_open(&job, &versions, group, kHash, 2 * kRanks);
  profiled_all_reduce(&job, &tensor);
  const uint64_t calls = calls_of(&tensor);
  const uint64_t last = (uint64_t)groups_of(&tensor);
  require(calls > last, "one step only");
  require_counts(&job, calls - last, last, 0);
  job_close(&job);
  return 0;
}

/* The user's own buffer in one call; then the largest call is shorter than the tensor. */
static int registered_rank(struct group* group, void* argument) {
  (void)argument;
  struct job job;
  struct tensor tensor = kChain;
  tensor.channels = 1;
  tensor.count = kTensorFloats;
  job_open(&job, &versions, group, kHash, kRanks);
  for (size_t parts = 1; parts <= 4; parts *= 4) {
    const size_t count = tensor.count / parts;
    const struct part part = {.parent = start_collective(&job, &tensor, "AllReduce"),
                              .pid = getpid(),
                              .steps = 1,
                              .chunk_bytes = kChunkBytes};
    profiler_part(&job.profiler, job.context, &part);
    profiler_part(&job.profiler, job.context, &part);
    for (size_t at = 0; at < parts; ++at) call_once(&job, tensor.data + at * count, count);
  }
  require_counts(&job, 5, 0, 0);
  job_close(&job);
  return 0;
}

int main(int argc, char** argv) {
  static const struct profiler_case kCases[] = {{"channels", channels_rank},
                                                {"refused", refused_rank},
                                                {"two", two_rank},
                                                {"heads", heads_rank},
                                                {"registered", registered_rank}};
  return run_profiler_case(argc, argv, kCases, sizeof kCases / sizeof *kCases, &versions);
}
