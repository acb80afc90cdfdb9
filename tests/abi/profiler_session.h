/* NCCL's sequences around one CollNet communicator that is profiled: init in its order, collectives
 * with their parts, the calls they lead to, verified. One thread. */
#pragma once

#include "include/thinwire.h"
#include "tests/abi/profiler_driver.h"
#include "tests/abi/session.h"

enum { kRanks = 2, kGroupChannels = 8, kHash = 42, kChunkBytes = 32768 };
enum { kChunkFloats = kChunkBytes / (int)sizeof(float), kTensorFloats = 1 << 16 };

/* What to load, and through which versions. */
struct versions {
  const char* library;
  int profiler;
  int net;
};

/* What both programs' mains do: PROGRAM LIBRARY CASE PROFILER_VERSION NET_VERSION on kRanks ranks.
 */
struct profiler_case {
  const char* name;
  rank_function function;
};
int run_profiler_case(int argc, char** argv, const struct profiler_case* cases, size_t count,
                      struct versions* versions);

/* One communicator of NCCL's as this process sees it. */
struct job {
  const struct versions* versions;
  struct driver driver;
  struct profiler profiler;
  struct group* group;
  uint64_t hash;
  void* context; /* the profiler's */
  void* comm;
  uint64_t sequence;
};

/* An all-reduce and how NCCL cuts it. */
struct tensor {
  float* data;
  size_t count;
  int channels;
  int heads; /* of one node, sharing the tensor */
  const char* algorithm;
};

/* Nine channels of a chain, several steps, the last one partly filled; data of kTensorFloats. */
extern const struct tensor kChain;

/* The network alone, then the profiler: as NCCL does. `ranks` of the communicator are on kRanks
 * nodes. */
void job_open_network(struct job* job, const struct versions* versions, struct group* group,
                      uint64_t hash);
void job_open_profiler(struct job* job, int ranks);
void job_open(struct job* job, const struct versions* versions, struct group* group, uint64_t hash,
              int ranks);
/* CollNet's communicator, the profiler's context, the network, as NCCL does. */
void job_close_comm(struct job* job);
void job_close_profiler(struct job* job);
void job_close_network(struct job* job);
void job_close(struct job* job);

int steps_of(const struct tensor* tensor);
int groups_of(const struct tensor* tensor);
uint64_t calls_of(const struct tensor* tensor);
/* Elements of the call for `group` of channels. */
size_t call_count(const struct tensor* tensor, int group);

/* The application's thread: starts and stops a collective; its handle. */
void* start_collective(struct job* job, const struct tensor* tensor, const char* function);
/* The progress thread takes the operation up: each channel to send, then to receive. */
void start_parts(struct job* job, const void* handle, const struct tensor* tensor);
/* One iallreduce with a verified sum. */
void call_once(struct job* job, float* data, size_t count);
/* All calls of the operation, step by step, group by group. */
void make_calls(struct job* job, const struct tensor* tensor);
/* All of it. */
void profiled_all_reduce(struct job* job, const struct tensor* tensor);

thinwire_counters_v1_t counters_of(struct driver* driver);
/* Calls identified and not, and communicators switched off, since the library was loaded. */
void require_counts(struct job* job, uint64_t identified, uint64_t unidentified, uint64_t off);
