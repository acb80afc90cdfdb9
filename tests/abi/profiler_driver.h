/* The library as NCCL's profiler, through any version of the table, with the events that NCCL
 * sends it. One thread, or one a communicator. */
#pragma once

#include "tests/abi/driver.h"

enum { kOldestProfiler = 1, kNewestProfiler = 6 };

struct profiler {
  void* library;
  int version;
  const void* table;
};

/* What init tells; versions below 4 tell nothing, of which 1 to 3 name the communicator in each
 * collective. */
struct communicator {
  uint64_t hash;
  int nodes;
  int ranks;
  int rank;
};

struct collective {
  const char* function;  /* "AllReduce" */
  const char* algorithm; /* "COLLNET_CHAIN" */
  uint64_t hash;
  uint64_t sequence;
  const void* send;
  void* receive;
  size_t count;
  int type;
};

struct part {
  const void* parent;
  int pid;
  int channel;
  int steps;
  int chunk_bytes;
  int is_send;
};

/* dlopen and dlsym, or fail(). */
void profiler_load(struct profiler* profiler, const char* path, int version);
void profiler_unload(struct profiler* profiler);

tw_nccl_result_t profiler_init(struct profiler* profiler, void** context, int* mask,
                               struct communicator comm);
tw_nccl_result_t profiler_finalize(struct profiler* profiler, void* context);
/* The start of an event, success required; its handle. */
void* profiler_collective(struct profiler* profiler, void* context,
                          const struct collective* collective);
void* profiler_part(struct profiler* profiler, void* context, const struct part* part);
/* Of a kind that carries nothing here: tw_nccl_profile_group ... */
void* profiler_other(struct profiler* profiler, void* context, int kind);
void profiler_stop(struct profiler* profiler, void* handle);

/* Every kind of event that `version` knows besides the two asked for, started, changed, stopped. */
void profiler_noise(struct profiler* profiler, void* context);
