/* One rank of a small NCCL job: collectives and messages with verified results. NCCL and the CUDA
 * runtime are loaded at run time, so it builds and runs (to say that it cannot) anywhere.
 * usage: nccl_two_ranks RANK RANKS ID_FILE PLUGIN TOLERANCE: of all-reduce, relative to the largest
 * exit status 77: no NCCL, no CUDA runtime or no GPU. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/nccl_abi/types.h"
#include "include/thinwire.h"

enum { kUnavailable = 77, kToDevice = 1, kToHost = 2, kElements = 3 << 20, kIdBytes = 128 };

typedef struct {
  char bytes[kIdBytes];
} unique_id;

/* The few functions used, as nccl.h and cuda_runtime_api.h declare them. */
static struct {
  int (*get_version)(int*);
  int (*get_unique_id)(unique_id*);
  int (*comm_init_rank)(void**, int, unique_id, int);
  int (*comm_destroy)(void*);
  const char* (*get_last_error)(void*);
  int (*all_reduce)(const void*, void*, size_t, int, int, void*, void*);
  int (*all_gather)(const void*, void*, size_t, int, void*, void*);
  int (*reduce_scatter)(const void*, void*, size_t, int, int, void*, void*);
  int (*send)(const void*, size_t, int, int, void*, void*);
  int (*recv)(void*, size_t, int, int, void*, void*);
  int (*group_start)(void);
  int (*group_end)(void);
} nccl;

static struct {
  int (*get_device_count)(int*);
  int (*set_device)(int);
  int (*malloc)(void**, size_t);
  int (*memcpy)(void*, const void*, size_t, int);
  int (*stream_create)(void**);
  int (*stream_synchronize)(void*);
} cuda;

struct job {
  int rank;
  int ranks;
  void* comm;
  void* stream;
  float* send; /* on the device, kElements each */
  float* recv;
  float* host;
  double tolerance;
};

static void quit(int status, const char* format, ...) __attribute__((noreturn));
static void quit(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(status);
}

static void check(int result, const char* what) {
  if (result == 0) return;
  const char* why = nccl.get_last_error == NULL ? "" : nccl.get_last_error(NULL);
  quit(1, "%s failed with %d: %s", what, result, why);
}

static void* open_first(const char* const* names) {
  for (; *names != NULL; ++names) {
    void* library = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
    if (library != NULL) return library;
  }
  return NULL;
}

static void bind(void* library, const char* name, void* function) {
  void* symbol = dlsym(library, name);
  if (symbol == NULL) quit(kUnavailable, "no %s", name);
  memcpy(function, &symbol, sizeof symbol);
}

static void bind_libraries(void) {
  static const char* const kCuda[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                      "libcudart.so", NULL};
  static const char* const kNccl[] = {"libnccl.so.2", NULL};
  void* runtime = open_first(kCuda);
  if (runtime == NULL) quit(kUnavailable, "no CUDA runtime (libcudart.so)");
  bind(runtime, "cudaGetDeviceCount", &cuda.get_device_count);
  bind(runtime, "cudaSetDevice", &cuda.set_device);
  bind(runtime, "cudaMalloc", &cuda.malloc);
  bind(runtime, "cudaMemcpy", &cuda.memcpy);
  bind(runtime, "cudaStreamCreate", &cuda.stream_create);
  bind(runtime, "cudaStreamSynchronize", &cuda.stream_synchronize);
  int devices = 0;
  if (cuda.get_device_count(&devices) != 0 || devices == 0) quit(kUnavailable, "no GPU here");
  void* library = open_first(kNccl);
  if (library == NULL) quit(kUnavailable, "no libnccl.so.2");
  bind(library, "ncclGetVersion", &nccl.get_version);
  bind(library, "ncclGetUniqueId", &nccl.get_unique_id);
  bind(library, "ncclCommInitRank", &nccl.comm_init_rank);
  bind(library, "ncclCommDestroy", &nccl.comm_destroy);
  bind(library, "ncclGetLastError", &nccl.get_last_error);
  bind(library, "ncclAllReduce", &nccl.all_reduce);
  bind(library, "ncclAllGather", &nccl.all_gather);
  bind(library, "ncclReduceScatter", &nccl.reduce_scatter);
  bind(library, "ncclSend", &nccl.send);
  bind(library, "ncclRecv", &nccl.recv);
  bind(library, "ncclGroupStart", &nccl.group_start);
  bind(library, "ncclGroupEnd", &nccl.group_end);
}

/* Rank 0 writes the id under another name first, so that nobody reads half of it. */
static unique_id share_id(int rank, const char* path) {
  unique_id id;
  char draft[4096];
  snprintf(draft, sizeof draft, "%s.draft", path);
  if (rank == 0) {
    check(nccl.get_unique_id(&id), "ncclGetUniqueId");
    FILE* file = fopen(draft, "wb");
    if (file == NULL || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) != 0 ||
        rename(draft, path) != 0) {
      quit(1, "cannot write %s", path);
    }
    return id;
  }
  for (int tries = 0; tries < 6000; ++tries) {
    const struct timespec pause = {0, 10000000};
    FILE* file = fopen(path, "rb");
    if (file != NULL) {
      if (fread(&id, sizeof id, 1, file) != 1) quit(1, "%s is cut", path);
      fclose(file);
      return id;
    }
    nanosleep(&pause, NULL);
  }
  quit(1, "no %s", path);
}

enum { kValues = 1021 };

/* Small integers: every sum is exact in float32. */
static float value(size_t at, int rank) { return (float)(at % kValues) + (float)(rank * 3); }

static void give(struct job* job, size_t count, size_t first) {
  for (size_t i = 0; i < count; ++i) job->host[i] = value(first + i, job->rank);
  check(cuda.memcpy(job->send, job->host, count * sizeof(float), kToDevice), "cudaMemcpy");
}

static void take(struct job* job, size_t count) {
  check(cuda.stream_synchronize(job->stream), "cudaStreamSynchronize");
  check(cuda.memcpy(job->host, job->recv, count * sizeof(float), kToHost), "cudaMemcpy");
}

static void expect(const struct job* job, const char* what, size_t at, float expected,
                   double tolerance) {
  const double error = (double)job->host[at] - (double)expected;
  if (error <= tolerance && error >= -tolerance) return;
  quit(1, "rank %d: %s: element %zu is %g, not %g", job->rank, what, at, (double)job->host[at],
       (double)expected);
}

static float sum_of(const struct job* job, size_t at) {
  float sum = 0;
  for (int rank = 0; rank < job->ranks; ++rank) sum += value(at, rank);
  return sum;
}

static void check_all_reduce(struct job* job, size_t count) {
  give(job, count, 0);
  check(nccl.all_reduce(job->send, job->recv, count, tw_nccl_float32, tw_nccl_sum, job->comm,
                        job->stream),
        "ncclAllReduce");
  take(job, count);
  const double tolerance = job->tolerance * kValues * job->ranks;
  for (size_t i = 0; i < count; ++i) expect(job, "all-reduce", i, sum_of(job, i), tolerance);
}

static void check_all_gather(struct job* job, size_t count) {
  give(job, count, 0);
  check(nccl.all_gather(job->send, job->recv, count, tw_nccl_float32, job->comm, job->stream),
        "ncclAllGather");
  take(job, count * (size_t)job->ranks);
  for (size_t i = 0; i < count * (size_t)job->ranks; ++i) {
    expect(job, "all-gather", i, value(i % count, (int)(i / count)), 0);
  }
}

static void check_reduce_scatter(struct job* job, size_t count) {
  give(job, count * (size_t)job->ranks, 0);
  check(nccl.reduce_scatter(job->send, job->recv, count, tw_nccl_float32, tw_nccl_sum, job->comm,
                            job->stream),
        "ncclReduceScatter");
  take(job, count);
  const size_t first = count * (size_t)job->rank;
  for (size_t i = 0; i < count; ++i) expect(job, "reduce-scatter", i, sum_of(job, first + i), 0);
}

static void check_send_receive(struct job* job, size_t count) {
  const int next = (job->rank + 1) % job->ranks;
  const int previous = (job->rank + job->ranks - 1) % job->ranks;
  give(job, count, 0);
  check(nccl.group_start(), "ncclGroupStart");
  check(nccl.send(job->send, count, tw_nccl_float32, next, job->comm, job->stream), "ncclSend");
  check(nccl.recv(job->recv, count, tw_nccl_float32, previous, job->comm, job->stream), "ncclRecv");
  check(nccl.group_end(), "ncclGroupEnd");
  take(job, count);
  for (size_t i = 0; i < count; ++i) expect(job, "send/receive", i, value(i, previous), 0);
}

/* What the plugin did for this process, if it is the one given. */
static void print_counters(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library == NULL) quit(1, "NCCL did not load %s", path);
  thinwire_counters_v1_fn read_counters;
  thinwire_counters_v1_t counters = {.size = sizeof counters};
  bind(library, "thinwireCounters_v1", &read_counters);
  if (read_counters(&counters) != 0) quit(1, "no counters");
  printf("counters: sends=%llu all_reduces=%llu all_gathers=%llu reduce_scatters=%llu\n",
         (unsigned long long)counters.sends, (unsigned long long)counters.all_reduces,
         (unsigned long long)counters.all_gathers, (unsigned long long)counters.reduce_scatters);
  dlclose(library);
}

static void run_all(struct job* job) {
  static const size_t kCounts[] = {1, 1000, 262144, 1 << 20};
  for (size_t i = 0; i < sizeof kCounts / sizeof *kCounts; ++i) {
    check_all_reduce(job, kCounts[i]);
    check_all_gather(job, kCounts[i]);
    check_reduce_scatter(job, kCounts[i]);
    check_send_receive(job, kCounts[i]);
  }
}

int main(int argc, char** argv) {
  if (argc != 6) quit(2, "usage: %s RANK RANKS ID_FILE PLUGIN TOLERANCE", argv[0]);
  struct job job = {.rank = atoi(argv[1]), .ranks = atoi(argv[2]), .tolerance = atof(argv[5])};
  int version = 0;
  bind_libraries();
  check(nccl.get_version(&version), "ncclGetVersion");
  printf("NCCL %d, rank %d of %d\n", version, job.rank, job.ranks);
  check(cuda.set_device(0), "cudaSetDevice");
  check(cuda.malloc((void**)&job.send, kElements * sizeof(float)), "cudaMalloc");
  check(cuda.malloc((void**)&job.recv, kElements * sizeof(float)), "cudaMalloc");
  check(cuda.stream_create(&job.stream), "cudaStreamCreate");
  job.host = malloc(kElements * sizeof(float));
  const unique_id id = share_id(job.rank, argv[3]);
  check(nccl.comm_init_rank(&job.comm, job.ranks, id, job.rank), "ncclCommInitRank");
  run_all(&job);
  print_counters(argv[4]);
  check(nccl.comm_destroy(job.comm), "ncclCommDestroy");
  printf("rank %d: ok\n", job.rank);
  free(job.host);
  return 0;
}
