// The one table from our Status to NCCL's result codes (design: Errors).
#pragma once

#include "base/nccl_abi/types.h"
#include "base/status.h"

namespace thinwire::plugin {

constexpr tw_nccl_result_t to_nccl(Code code) {
  switch (code) {
    case Code::ok:
    case Code::would_block:  // the caller reports it as a null request or done = 0
      return tw_nccl_success;
    case Code::invalid_config:
      return tw_nccl_invalid_usage;
    case Code::peer_lost:
      return tw_nccl_remote_error;
    case Code::system_error:
      return tw_nccl_system_error;
    case Code::invalid_argument:
    case Code::internal_error:
      break;
  }
  return tw_nccl_internal_error;
}

constexpr tw_nccl_result_t to_nccl(const Status& status) { return to_nccl(status.code()); }

}  // namespace thinwire::plugin
