// One UCP request in memory of our own, so that its life does not depend on UCX's pools.
// Owner: a Sender or Receiver; one thread.
#pragma once

#include <cstddef>
#include <memory>

#include "transports/ucx/api.h"

namespace thinwire::transports::ucx {

class RequestMemory {
 public:
  // UCP writes in front of the pointer that it is given.
  void* of_bytes(std::size_t bytes) {
    if (!memory_) memory_ = std::make_unique_for_overwrite<Line[]>(lines(bytes));
    return memory_.get() + lines(bytes);
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static std::size_t lines(std::size_t bytes) { return (bytes + sizeof(Line) - 1) / sizeof(Line); }
  std::unique_ptr<Line[]> memory_;
};

// Parameters of an operation on contiguous bytes that reports to `user_data`.
inline ucp_request_param_t request_parameters(void* request, ucs_memory_type_t memory,
                                              void* user_data) {
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_REQUEST | UCP_OP_ATTR_FIELD_CALLBACK |
                            UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  parameters.request = request;
  parameters.user_data = user_data;
  parameters.memory_type = memory;
  return parameters;
}

}  // namespace thinwire::transports::ucx
