// The UCX transport's entries in the contract suite, over TCP's control connections on loopback.
// UCX_TLS in the environment of each run decides what UCX moves messages with.
#include "tests/transports/contract.h"
#include "transports/tcp/tcp_transport.h"
#include "transports/ucx/ucx_transport.h"

namespace thinwire::transports::contract {

namespace {

class OwnControlTransport final : public Transport {
 public:
  OwnControlTransport(const Config& config, const Log& log, const Clock& clock)
      : control_(config, log, clock), transport_(config, log, clock, control_) {}
  std::string_view name() const override { return transport_.name(); }
  Result<std::vector<NicInfo>> probe() override { return transport_.probe(); }
  Result<std::unique_ptr<Endpoint>> open(int device) override { return transport_.open(device); }

 private:
  tcp::TcpTransport control_;
  ucx::UcxTransport transport_;
};

}  // namespace

std::vector<Case> cases() {
  Config config;
  config.socket_ifname = "=lo";
  // What the suite sizes its messages by: UCX's own borders are at 32 KiB and 1 MiB.
  config.tcp_chunk_bytes = 32 * 1024;
  config.tcp_window_bytes = 1024 * 1024;
  return {{"Ucx",
           [](const Config& the_config, const Log& log, const Clock& clock) {
             return std::make_unique<OwnControlTransport>(the_config, log, clock);
           },
           config}};
}

}  // namespace thinwire::transports::contract
