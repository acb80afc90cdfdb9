#include "perf/plugin_api.h"

#include "perf/failure.h"
#include "perf/limits.h"

namespace thinwire::perf {

std::string result_text(NcclResult result) {
  constexpr const char* kNames[] = {
      "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
      "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
  const int code = static_cast<int>(result);
  const bool known = code >= 0 && code < static_cast<int>(std::size(kNames));
  return std::string(known ? kNames[code] : "an unknown result") + " (" + std::to_string(code) +
         ")";
}

void nccl_check(const PluginApi& api, NcclResult result, const char* call) {
  if (result == tw_nccl_success) return;
  // The plugin's settings are the user's.
  const bool is_usage = result == tw_nccl_invalid_usage;
  const bool may_be_limit = result == tw_nccl_system_error;
  throw Failure(is_usage ? ExitCode::usage : ExitCode::runtime_error,
                std::string(call) + " of plugin " + api.name() + " returned " +
                    result_text(result) + (may_be_limit ? descriptor_hint() : ""));
}

}  // namespace thinwire::perf
