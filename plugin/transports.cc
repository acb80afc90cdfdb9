#include "plugin/transports.h"

#include <utility>

#include "transports/shm/shm_transport.h"
#include "transports/tcp/tcp_transport.h"
#include "transports/ucx/ucx_transport.h"
#include "transports/verbs/verbs_transport.h"

namespace thinwire::plugin {

namespace {

using transports::Transport;

// A transport over the connections of another one, which it owns.
template <class Upper>
class OverTcp final : public Transport {
 public:
  OverTcp(const Config& config, const Log& log, const Clock& clock)
      : control_(config, log, clock), transport_(config, log, clock, control_) {}

  std::string_view name() const override { return transport_.name(); }
  Result<std::vector<NicInfo>> probe() override { return transport_.probe(); }
  Result<std::unique_ptr<transports::Endpoint>> open(int device) override {
    return transport_.open(device);
  }
  Status can_merge(std::span<const int> devices) override { return transport_.can_merge(devices); }
  Result<std::unique_ptr<transports::Endpoint>> open_merged(std::span<const int> devices) override {
    return transport_.open_merged(devices);
  }

 private:
  transports::tcp::TcpTransport control_;
  Upper transport_;
};

}  // namespace

// `automatic` is a constant: all ranks must choose alike, and a host's own probing is not the
// other hosts' (docs/tuning.md has the measurements behind it).
std::unique_ptr<Transport> make_transport(const Config& config, const Log& log,
                                          const Clock& clock) {
  switch (config.transport) {
    case TransportChoice::ucx:
      return std::make_unique<OverTcp<transports::ucx::UcxTransport>>(config, log, clock);
    case TransportChoice::verbs:
      return std::make_unique<OverTcp<transports::verbs::VerbsTransport>>(config, log, clock);
    case TransportChoice::automatic:
    case TransportChoice::tcp:
      break;
  }
  return std::make_unique<transports::tcp::TcpTransport>(config, log, clock);
}

std::unique_ptr<Transport> make_near_transport(const Config& config, const Log& log,
                                               const Clock& clock) {
  if (config.shm == ShmChoice::off) return nullptr;
  Config loopback = config;
  loopback.socket_ifname = "=lo";
  loopback.socket_family = AddressFamily::any;
  loopback.tcp_streams = 1;
  return std::make_unique<OverTcp<transports::shm::ShmTransport>>(loopback, log, clock);
}

}  // namespace thinwire::plugin
