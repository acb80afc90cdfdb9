#include "perf/nccl_library.h"

#include <dlfcn.h>

#include <initializer_list>

#include "perf/failure.h"

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#include <nccl.h>
static_assert(sizeof(ncclUniqueId) == sizeof(thinwire::perf::NcclUniqueId));
static_assert(ncclFloat32 == 7 && ncclAvg == 4 && ncclSuccess == 0);
static_assert(cudaErrorNotReady == thinwire::perf::NcclLibrary::kNotReady);
static_assert(cudaMemcpyDefault == thinwire::perf::NcclLibrary::kCopyDefault);
#endif

namespace thinwire::perf {
namespace {

[[noreturn]] void cannot_measure(const std::string& why) {
  throw Failure(ExitCode::no_device, "--api nccl cannot run here: " + why);
}

void* load(std::initializer_list<const char*> names) {
  std::string reasons;
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    const char* reason = dlerror();
    reasons += std::string("\n  ") + (reason != nullptr ? reason : name);
  }
  cannot_measure("no such library:" + reasons);
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) cannot_measure(std::string(name) + " is missing in its library");
}

}  // namespace

NcclLibrary::NcclLibrary() {
  cuda_ = load({"libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"});
  find(cuda_, "cudaGetDeviceCount", cuda_get_device_count);
  find(cuda_, "cudaSetDevice", cuda_set_device);
  find(cuda_, "cudaMalloc", cuda_malloc);
  find(cuda_, "cudaFree", cuda_free);
  find(cuda_, "cudaMemcpy", cuda_memcpy);
  find(cuda_, "cudaStreamCreate", cuda_stream_create);
  find(cuda_, "cudaStreamDestroy", cuda_stream_destroy);
  find(cuda_, "cudaStreamQuery", cuda_stream_query);
  find(cuda_, "cudaGetErrorString", cuda_get_error_string);
  const int result = cuda_get_device_count(&gpus_);
  if (result != 0) cannot_measure(std::string("no GPU: ") + cuda_get_error_string(result));
  if (gpus_ == 0) cannot_measure("no GPU");
  nccl_ = load({"libnccl.so.2"});
  find(nccl_, "ncclGetVersion", get_version);
  find(nccl_, "ncclGetUniqueId", get_unique_id);
  find(nccl_, "ncclCommInitRank", comm_init_rank);
  find(nccl_, "ncclCommDestroy", comm_destroy);
  find(nccl_, "ncclCommAbort", comm_abort);
  find(nccl_, "ncclCommGetAsyncError", comm_get_async_error);
  find(nccl_, "ncclGroupStart", group_start);
  find(nccl_, "ncclGroupEnd", group_end);
  find(nccl_, "ncclAllReduce", all_reduce);
  find(nccl_, "ncclAllGather", all_gather);
  find(nccl_, "ncclReduceScatter", reduce_scatter);
  find(nccl_, "ncclSend", send);
  find(nccl_, "ncclRecv", recv);
  find(nccl_, "ncclGetErrorString", get_error_string);
}

// Both libraries keep threads and exit handlers of their own: they stay loaded.
NcclLibrary::~NcclLibrary() = default;

void NcclLibrary::check_cuda(int result, const char* call) const {
  if (result == 0) return;
  throw Failure(ExitCode::runtime_error,
                std::string(call) + " failed: " + cuda_get_error_string(result));
}

void NcclLibrary::check_nccl(int result, const char* call) const {
  if (result == 0) return;
  throw Failure(ExitCode::runtime_error,
                std::string(call) + " failed: " + get_error_string(result));
}

}  // namespace thinwire::perf
