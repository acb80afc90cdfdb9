#include "tests/abi/profiler_session.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nccl_abi/profiler.h"

static float tensor_memory[kTensorFloats];
const struct tensor kChain = {.data = tensor_memory,
                              .count = 200001,
                              .channels = 9,
                              .heads = 1,
                              .algorithm = "COLLNET_CHAIN"};

thinwire_counters_v1_t counters_of(struct driver* driver) {
  thinwire_counters_v1_t counters = {.size = sizeof counters};
  thinwire_counters_v1_fn read;
  void* symbol = dlsym(driver->library, "thinwireCounters_v1");
  memcpy(&read, &symbol, sizeof read);
  require(read(&counters) == 0, "no counters");
  return counters;
}

static struct communicator communicator_of(const struct job* job, int ranks) {
  return (struct communicator){
      .hash = job->hash, .nodes = kRanks, .ranks = ranks, .rank = job->group->rank};
}

void job_open_network(struct job* job, const struct versions* versions, struct group* group,
                      uint64_t hash) {
  memset(job, 0, sizeof *job);
  job->versions = versions;
  job->group = group;
  job->hash = hash;
  driver_load(&job->driver, versions->library, versions->net);
  job->driver.comm_id = hash;
  require_success(driver_init(&job->driver, record_log), "init");
}

void job_open_profiler(struct job* job, int ranks) {
  int mask = 0;
  profiler_load(&job->profiler, job->versions->library, job->versions->profiler);
  require_success(profiler_init(&job->profiler, &job->context, &mask, communicator_of(job, ranks)),
                  "profiler init");
  require(mask == (tw_nccl_profile_coll | tw_nccl_profile_proxy_op), "event mask %#x", mask);
  require(job->context != NULL, "no profiler context");
}

void job_open(struct job* job, const struct versions* versions, struct group* group, uint64_t hash,
              int ranks) {
  job_open_network(job, versions, group, hash);
  job_open_profiler(job, ranks);
  require_success(coll_open(&job->driver, group, &job->comm), "CollNet connect");
}

void job_close_comm(struct job* job) {
  barrier(job->group);
  require_success(coll_close(&job->driver, job->comm), "closeColl");
}

void job_close_profiler(struct job* job) {
  require_success(profiler_finalize(&job->profiler, job->context), "profiler finalize");
  profiler_unload(&job->profiler);
}

void job_close_network(struct job* job) {
  driver_finalize(&job->driver);
  driver_unload(&job->driver);
}

void job_close(struct job* job) {
  job_close_comm(job);
  job_close_profiler(job);
  job_close_network(job);
}

int steps_of(const struct tensor* tensor) {
  const size_t step = (size_t)tensor->channels * (size_t)tensor->heads * kChunkFloats;
  return (int)((tensor->count + step - 1) / step);
}

int groups_of(const struct tensor* tensor) {
  return (tensor->channels + kGroupChannels - 1) / kGroupChannels;
}

void* start_collective(struct job* job, const struct tensor* tensor, const char* function) {
  const struct collective collective = {.function = function,
                                        .algorithm = tensor->algorithm,
                                        .hash = job->hash,
                                        .sequence = job->sequence++,
                                        .send = tensor->data,
                                        .receive = tensor->data,
                                        .count = tensor->count,
                                        .type = tw_nccl_float32};
  void* handle = profiler_collective(&job->profiler, job->context, &collective);
  profiler_stop(&job->profiler, handle);
  return handle;
}

void start_parts(struct job* job, const void* handle, const struct tensor* tensor) {
  for (int channel = 0; channel < tensor->channels; ++channel) {
    const struct part part = {.parent = handle,
                              .pid = getpid(),
                              .channel = channel,
                              .steps = steps_of(tensor),
                              .chunk_bytes = kChunkBytes};
    profiler_part(&job->profiler, job->context, &part);
    profiler_part(&job->profiler, job->context, &part);
  }
}

void call_once(struct job* job, float* data, size_t count) {
  void* request = NULL;
  const int rank = job->group->rank;
  for (size_t i = 0; i < count; ++i) data[i] = (float)(i % 512) + (float)rank;
  require_success(all_reduce_retried(&job->driver, job->comm, data, data, count, tw_nccl_float32,
                                     tw_nccl_sum, NULL, &request),
                  "iallreduce");
  require_success(coll_wait(&job->driver, request, NULL), "test");
  for (size_t i = 0; i < count; ++i) {
    const float expected = (float)(i % 512) * kRanks + kRanks * (kRanks - 1) / 2;
    require(data[i] == expected, "element %zu of %zu is %g", i, count, (double)data[i]);
  }
}

uint64_t calls_of(const struct tensor* tensor) {
  return (uint64_t)(steps_of(tensor) * groups_of(tensor));
}

size_t call_count(const struct tensor* tensor, int group) {
  const int first = group * kGroupChannels;
  const int left = tensor->channels - first;
  return (size_t)(left < kGroupChannels ? left : kGroupChannels) * kChunkFloats;
}

void make_calls(struct job* job, const struct tensor* tensor) {
  static float staging[kGroupChannels * kChunkFloats];
  for (int step = 0; step < steps_of(tensor); ++step) {
    for (int group = 0; group < groups_of(tensor); ++group) {
      call_once(job, staging, call_count(tensor, group));
    }
  }
}

void profiled_all_reduce(struct job* job, const struct tensor* tensor) {
  start_parts(job, start_collective(job, tensor, "AllReduce"), tensor);
  make_calls(job, tensor);
}

void require_counts(struct job* job, uint64_t identified, uint64_t unidentified, uint64_t off) {
  const thinwire_counters_v1_t counters = counters_of(&job->driver);
  require(counters.tensors_identified == identified &&
              counters.tensors_unidentified == unidentified &&
              counters.identities_switched_off == off,
          "%lu identified, %lu not, %lu off; expected %lu, %lu, %lu",
          (unsigned long)counters.tensors_identified, (unsigned long)counters.tensors_unidentified,
          (unsigned long)counters.identities_switched_off, (unsigned long)identified,
          (unsigned long)unidentified, (unsigned long)off);
}

int run_profiler_case(int argc, char** argv, const struct profiler_case* cases, size_t count,
                      struct versions* versions) {
  if (argc != 5) fail("usage: %s LIBRARY CASE PROFILER_VERSION NET_VERSION", argv[0]);
  *versions = (struct versions){argv[1], atoi(argv[3]), atoi(argv[4])};
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(argv[2], cases[i].name) != 0) continue;
    run_healthy_ranks(kRanks, cases[i].function, NULL);
    printf("%s: ok\n", argv[2]);
    return 0;
  }
  fail("no case %s", argv[2]);
}
