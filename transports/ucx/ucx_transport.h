// The UCX transport: messages over UCP active messages, on the devices of a control transport.
// Each connection also has one of the control transport (TCP in the product), over which the two
// sides introduce themselves, tell errors and see one another's death.
// Owner: the composition root. probe() and open() by one thread at a time.
//
// libucp.so.0 (1.13 or newer) is loaded at the first probe() and stays loaded for the life of the
// process: UCX's own libraries cannot be unloaded.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/transport.h"

namespace thinwire::transports::ucx {

class UcxTransport final : public Transport {
 public:
  // `config` is copied; the others outlive the transport.
  UcxTransport(const Config& config, const Log& log, const Clock& clock, Transport& control);
  ~UcxTransport() override;

  std::string_view name() const override { return "ucx"; }

  // The control transport's devices that UCX can use, as UCX_TLS and UCX_NET_DEVICES have it.
  // Code::system_error: this build or this host has no UCX, an older one, or none of its
  // resources is on those devices. Looks once and keeps the answer.
  Result<std::vector<NicInfo>> probe() override;
  Result<std::unique_ptr<Endpoint>> open(int device) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinwire::transports::ucx
