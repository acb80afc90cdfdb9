// The shared-memory transport's entries in the contract suite, over TCP's control connections on
// loopback: long messages by cross-memory attach where it is permitted, and always in parts.
#include "tests/transports/contract.h"
#include "transports/shm/lane.h"
#include "transports/shm/shm_transport.h"
#include "transports/tcp/tcp_transport.h"

namespace thinwire::transports::contract {
namespace {

class OwnControlTransport final : public Transport {
 public:
  OwnControlTransport(const Config& config, const Log& log, const Clock& clock,
                      shm::CrossMemory cross_memory)
      : control_(config, log, clock), transport_(config, log, clock, control_, cross_memory) {}
  std::string_view name() const override { return transport_.name(); }
  Result<std::vector<NicInfo>> probe() override { return transport_.probe(); }
  Result<std::unique_ptr<Endpoint>> open(int device) override { return transport_.open(device); }

 private:
  tcp::TcpTransport control_;
  shm::ShmTransport transport_;
};

Case shm_case(const char* name, shm::CrossMemory cross_memory) {
  Config config;
  config.socket_ifname = "=lo";
  // What the suite sizes its messages by.
  config.tcp_chunk_bytes = static_cast<std::int64_t>(shm::kLargeBytes);
  config.tcp_window_bytes = 1024 * 1024;
  return {name,
          [cross_memory](const Config& the_config, const Log& log, const Clock& clock) {
            return std::make_unique<OwnControlTransport>(the_config, log, clock, cross_memory);
          },
          config};
}

}  // namespace

std::vector<Case> shm_cases() {
  return {shm_case("Shm", shm::CrossMemory::tried), shm_case("ShmInParts", shm::CrossMemory::off)};
}

}  // namespace thinwire::transports::contract
