// The verbs transport's entries in the contract suite over the RDMA devices of this host, as
// tests/rxe-vm has them; elsewhere they skip.
#include <array>
#include <vector>

#include "tests/transports/contract.h"
#include "transports/tcp/tcp_transport.h"
#include "transports/verbs/verbs_transport.h"

namespace thinwire::transports::contract {

namespace {

class DeviceTransport final : public Transport {
 public:
  DeviceTransport(const Config& config, const Log& log, const Clock& clock)
      : control_(config, log, clock), transport_(config, log, clock, control_) {}
  std::string_view name() const override { return transport_.name(); }
  Result<std::vector<NicInfo>> probe() override { return transport_.probe(); }
  Result<std::unique_ptr<Endpoint>> open(int device) override { return transport_.open(device); }

 private:
  tcp::TcpTransport control_;
  verbs::VerbsTransport transport_;
};

// Its only device is made of the host's first two.
class MergedTransport final : public Transport {
 public:
  MergedTransport(const Config& config, const Log& log, const Clock& clock)
      : control_(config, log, clock), transport_(config, log, clock, control_) {}
  std::string_view name() const override { return transport_.name(); }
  Result<std::vector<NicInfo>> probe() override {
    const auto devices = transport_.probe();
    if (!devices.ok()) return devices.status();
    if (devices.value().size() < 2) return Status(Code::system_error, "needs two RDMA devices");
    return std::vector<NicInfo>{devices.value()[0]};
  }
  Result<std::unique_ptr<Endpoint>> open(int device) override {
    if (device != 0) return Status(Code::invalid_argument, "no such device", device);
    return transport_.open_merged(std::array{0, 1});
  }

 private:
  tcp::TcpTransport control_;
  verbs::VerbsTransport transport_;
};

template <class MadeTransport>
Case device_case(const char* name, int accepting_device, std::int64_t queue_pairs) {
  Config config;
  config.socket_ifname = "=lo";
  config.verbs_queue_pairs = queue_pairs;
  config.tcp_chunk_bytes = 32 * 1024;
  config.tcp_window_bytes = 1024 * 1024;
  return {name,
          [](const Config& the_config, const Log& log, const Clock& clock) {
            return std::make_unique<MadeTransport>(the_config, log, clock);
          },
          config, accepting_device};
}

}  // namespace

std::vector<Case> cases() {
  return {device_case<DeviceTransport>("OneDevice", 0, 1),
          device_case<DeviceTransport>("TwoDevices", 1, 3),
          device_case<MergedTransport>("TwoAsOne", 0, 2)};
}

}  // namespace thinwire::transports::contract
