// The memory transport's entry in the contract suite, without faults: those are exercised by
// tests/collectives/engine_faults_test.cc.
#include "tests/transports/contract.h"
#include "transports/memory/memory_transport.h"

namespace thinwire::transports::contract {
namespace {

class OwnFabricTransport final : public Transport {
 public:
  explicit OwnFabricTransport(std::size_t window_bytes) : fabric_({.window_bytes = window_bytes}) {}
  std::string_view name() const override { return transport_.name(); }
  Result<std::vector<NicInfo>> probe() override { return transport_.probe(); }
  Result<std::unique_ptr<Endpoint>> open(int device) override { return transport_.open(device); }

 private:
  memory::MemoryFabric fabric_;
  memory::MemoryTransport transport_{fabric_};
};

}  // namespace

Case memory_case() {
  return {"Memory",
          [](const Config& config, const Log&, const Clock&) {
            return std::make_unique<OwnFabricTransport>(
                static_cast<std::size_t>(config.tcp_window_bytes));
          },
          Config{}};
}

}  // namespace thinwire::transports::contract
