// UCP's functions without UCX: what is asked of them is recorded, operations wait for the test.
// Owner: a test, one at a time; one thread.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "transports/ucx/api.h"

namespace thinwire::transports::ucx {

class FakeUcp {
 public:
  struct Operation {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    ucp_request_param_t parameters{};
  };

  // `memory_types`: what UCX says it handles, by bits of ucs_memory_type_t.
  explicit FakeUcp(std::uint64_t memory_types) : memory_types_(memory_types) { current_ = this; }
  ~FakeUcp() { current_ = nullptr; }
  FakeUcp(const FakeUcp&) = delete;
  FakeUcp& operator=(const FakeUcp&) = delete;

  Api api();
  // Hands an active message to the worker's handler, as ucp_worker_progress() does.
  ucs_status_t deliver(const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                       unsigned attributes);

  std::vector<ucp_mem_map_params_t> mapped;
  int unmapped = 0;
  std::vector<Operation> sends;
  std::vector<Operation> receives;
  int released = 0;  // descriptors
  ucp_am_handler_param_t handler{};

 private:
  static inline FakeUcp* current_ = nullptr;

  template <class Handle>
  static Handle handle() {
    return reinterpret_cast<Handle>(current_);
  }
  void add_context(Api& api);
  void add_worker(Api& api);
  void add_transfers(Api& api);

  const std::uint64_t memory_types_;
};

inline Api FakeUcp::api() {
  Api api{};
  add_context(api);
  add_worker(api);
  add_transfers(api);
  api.status_string = [](ucs_status_t) { return "fake"; };
  return api;
}

inline void FakeUcp::add_context(Api& api) {
  api.config_read = [](const char*, const char*, ucp_config_t** config) {
    *config = handle<ucp_config_t*>();
    return UCS_OK;
  };
  api.config_release = [](ucp_config_t*) {};
  api.init_version = [](unsigned, unsigned, const ucp_params_t*, const ucp_config_t*,
                        ucp_context_h* context) {
    *context = handle<ucp_context_h>();
    return UCS_OK;
  };
  api.cleanup = [](ucp_context_h) {};
  api.context_query = [](ucp_context_h, ucp_context_attr_t* attributes) {
    attributes->request_size = 256;
    attributes->memory_types = current_->memory_types_;
    return UCS_OK;
  };
  api.context_print_info = [](const ucp_context_h, FILE*) {};
  api.mem_map = [](ucp_context_h, const ucp_mem_map_params_t* params, ucp_mem_h* memory) {
    current_->mapped.push_back(*params);
    *memory = handle<ucp_mem_h>();
    return UCS_OK;
  };
  api.mem_unmap = [](ucp_context_h, ucp_mem_h) {
    ++current_->unmapped;
    return UCS_OK;
  };
}

inline void FakeUcp::add_worker(Api& api) {
  api.worker_create = [](ucp_context_h, const ucp_worker_params_t*, ucp_worker_h* worker) {
    *worker = handle<ucp_worker_h>();
    return UCS_OK;
  };
  api.worker_destroy = [](ucp_worker_h) {};
  api.worker_set_am_recv_handler = [](ucp_worker_h, const ucp_am_handler_param_t* param) {
    current_->handler = *param;
    return UCS_OK;
  };
  api.worker_get_address = [](ucp_worker_h, ucp_address_t** address, std::size_t* bytes) {
    *address = handle<ucp_address_t*>();
    *bytes = 0;
    return UCS_OK;
  };
  api.worker_release_address = [](ucp_worker_h, ucp_address_t*) {};
  api.worker_get_efd = [](ucp_worker_h, int* fd) {
    static const int event = ::eventfd(0, EFD_CLOEXEC);
    *fd = event;
    return UCS_OK;
  };
  api.worker_progress = [](ucp_worker_h) { return 0u; };
}

inline void FakeUcp::add_transfers(Api& api) {
  api.am_send_nbx = [](ucp_ep_h, unsigned, const void*, std::size_t, const void* buffer,
                       std::size_t bytes, const ucp_request_param_t* param) -> ucs_status_ptr_t {
    current_->sends.push_back({buffer, bytes, *param});
    return nullptr;
  };
  api.am_recv_data_nbx = [](ucp_worker_h, void*, void* buffer, std::size_t bytes,
                            const ucp_request_param_t* param) -> ucs_status_ptr_t {
    current_->receives.push_back({buffer, bytes, *param});
    return nullptr;
  };
  api.am_data_release = [](ucp_worker_h, void*) { ++current_->released; };
}

inline ucs_status_t FakeUcp::deliver(const void* header, std::size_t header_bytes, void* data,
                                     std::size_t bytes, unsigned attributes) {
  ucp_am_recv_param_t param{};
  param.recv_attr = attributes;
  return handler.cb(handler.arg, header, header_bytes, data, bytes, &param);
}

}  // namespace thinwire::transports::ucx
