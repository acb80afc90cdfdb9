#include "plugin/transports.h"

#include <utility>

#include "transports/tcp/tcp_transport.h"
#include "transports/ucx/ucx_transport.h"

namespace thinwire::plugin {

namespace {

using transports::Transport;

// UCX over the connections of another transport, which it owns.
class UcxOverTcp final : public Transport {
 public:
  UcxOverTcp(const Config& config, const Log& log, const Clock& clock)
      : control_(config, log, clock), transport_(config, log, clock, control_) {}

  std::string_view name() const override { return transport_.name(); }
  Result<std::vector<NicInfo>> probe() override { return transport_.probe(); }
  Result<std::unique_ptr<transports::Endpoint>> open(int device) override {
    return transport_.open(device);
  }

 private:
  transports::tcp::TcpTransport control_;
  transports::ucx::UcxTransport transport_;
};

}  // namespace

// `automatic` is a constant: all ranks must choose alike, and a host's own probing is not the
// other hosts' (docs/tuning.md has the measurements behind it).
std::unique_ptr<Transport> make_transport(const Config& config, const Log& log,
                                          const Clock& clock) {
  switch (config.transport) {
    case TransportChoice::ucx:
      return std::make_unique<UcxOverTcp>(config, log, clock);
    case TransportChoice::automatic:
    case TransportChoice::tcp:
      break;
  }
  return std::make_unique<transports::tcp::TcpTransport>(config, log, clock);
}

}  // namespace thinwire::plugin
