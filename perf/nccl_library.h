// NcclLibrary: libnccl.so.2 and libcudart, loaded at run time, with the few functions that
// --api nccl calls. Our own declarations of two foreign ABIs (NCCL 2.18 and later, CUDA 11 to 13),
// checked against the real headers where the build finds them. Owner: NcclRunner; one thread.
#pragma once

#include <cstddef>
#include <string>

namespace thinwire::perf {

struct NcclUniqueId {
  char bytes[128];
};

class NcclLibrary {
 public:
  // Throws Failure (no_device) where a library or a GPU is missing, saying which.
  NcclLibrary();
  ~NcclLibrary();
  NcclLibrary(const NcclLibrary&) = delete;
  NcclLibrary& operator=(const NcclLibrary&) = delete;

  int gpus() const { return gpus_; }

  // CUDA runtime: 0 is success.
  int (*cuda_get_device_count)(int*) = nullptr;
  int (*cuda_set_device)(int) = nullptr;
  int (*cuda_malloc)(void**, std::size_t) = nullptr;
  int (*cuda_free)(void*) = nullptr;
  int (*cuda_memcpy)(void*, const void*, std::size_t, int kind) = nullptr;
  int (*cuda_stream_create)(void**) = nullptr;
  int (*cuda_stream_destroy)(void*) = nullptr;
  int (*cuda_stream_query)(void*) = nullptr;
  const char* (*cuda_get_error_string)(int) = nullptr;

  // NCCL: 0 is success; types and operations by NCCL's numbers.
  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(NcclUniqueId*) = nullptr;
  int (*comm_init_rank)(void**, int ranks, NcclUniqueId, int rank) = nullptr;
  int (*comm_destroy)(void*) = nullptr;
  int (*comm_abort)(void*) = nullptr;
  int (*comm_get_async_error)(void*, int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int type, int op, void*, void*) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int type, void*, void*) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int type, int op, void*, void*) = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, void*, void*) = nullptr;
  int (*recv)(void*, std::size_t, int type, int peer, void*, void*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;

  // Throw Failure (runtime_error) with the call's name and the library's text unless 0.
  void check_cuda(int result, const char* call) const;
  void check_nccl(int result, const char* call) const;

  static constexpr int kNotReady = 600;   // cudaErrorNotReady
  static constexpr int kCopyDefault = 4;  // cudaMemcpyDefault

 private:
  void* cuda_ = nullptr;
  void* nccl_ = nullptr;
  int gpus_ = 0;
};

}  // namespace thinwire::perf
