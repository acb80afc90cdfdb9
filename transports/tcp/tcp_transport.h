// The TCP transport: one device per usable network interface, IPv4 and IPv6.
// Owner: the composition root. probe() and open() by one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/tcp/interfaces.h"
#include "transports/tcp/settings.h"
#include "transports/transport.h"

namespace thinwire::transports::tcp {

class TcpTransport final : public Transport {
 public:
  // `config` is copied; `log` and `clock` outlive the transport.
  TcpTransport(const Config& config, const Log& log, const Clock& clock);

  std::string_view name() const override { return "tcp"; }

  // Looks at the system on the first call and keeps the answer. Code::invalid_config: nothing
  // matches NCCL_SOCKET_IFNAME or NCCL_SOCKET_FAMILY (logged with what there is).
  Result<std::vector<NicInfo>> probe() override;
  Result<std::unique_ptr<Endpoint>> open(int device) override;

 private:
  Status find_devices();

  const Settings settings_;
  bool probed_ = false;
  Status probe_status_;
  std::vector<Device> devices_;
};

}  // namespace thinwire::transports::tcp
