#include "transports/shm/shm_transport.h"

#include "transports/shm/endpoint.h"

namespace thinwire::transports::shm {

Result<std::vector<NicInfo>> ShmTransport::probe() {
  auto nics = control_.probe();
  if (!nics.ok()) return nics;
  for (NicInfo& nic : nics.value()) nic.reason += "; shared memory within the host";
  return nics;
}

Result<std::unique_ptr<Endpoint>> ShmTransport::open(int device) {
  auto control = control_.open(device);
  if (!control.ok()) return control.status();
  auto endpoint = std::make_unique<ShmEndpoint>(settings_, std::move(control).value());
  if (!endpoint->is_valid()) return Status(Code::system_error, "cannot make an epoll descriptor");
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

}  // namespace thinwire::transports::shm
