// One UCP context: UCX's resources, perhaps restricted to some network devices.
// Owner: UcxTransport; its workers may be used by different threads at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "transports/ucx/resources.h"
#include "transports/ucx/settings.h"

namespace thinwire::transports::ucx {

class Context {
 public:
  // `net_devices`: as UCX_NET_DEVICES has it, overriding it; empty: whatever UCX is configured
  // for. Code::system_error: UCX refuses (native: its status).
  static Result<std::unique_ptr<Context>> create(const Settings& settings,
                                                 const std::string& net_devices);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ucp_context_h native() const { return context_; }
  const Api& api() const { return settings_.api; }
  const Settings& settings() const { return settings_; }
  // What one request needs in front of the pointer that UCP is given.
  std::size_t request_bytes() const { return request_bytes_; }
  bool handles_cuda() const { return handles_cuda_; }
  const std::vector<Resource>& resources() const { return resources_; }

 private:
  Context(const Settings& settings, ucp_context_h context);
  Status learn();

  const Settings& settings_;
  ucp_context_h context_;
  std::size_t request_bytes_ = 0;
  bool handles_cuda_ = false;
  std::vector<Resource> resources_;
};

}  // namespace thinwire::transports::ucx
