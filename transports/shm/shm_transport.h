// The shared-memory transport: messages between processes of one host, introduced over the
// connections of a control transport (TCP in the product), on its devices. The same IPC is needed,
// not the same file system or process numbers: only the network namespace must be one.
// Owner: the composition root. probe() and open() by one thread at a time.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/shm/endpoint_state.h"
#include "transports/transport.h"

namespace thinwire::transports::shm {

enum class CrossMemory : std::uint8_t { tried, off };

class ShmTransport final : public Transport {
 public:
  // `config` is copied; the others outlive the transport.
  ShmTransport(const Config& config, const Log& log, const Clock& clock, Transport& control,
               CrossMemory cross_memory = CrossMemory::tried)
      : settings_{config, log, clock, cross_memory == CrossMemory::tried}, control_(control) {}

  std::string_view name() const override { return "shm"; }
  // The control transport's devices.
  Result<std::vector<NicInfo>> probe() override;
  Result<std::unique_ptr<Endpoint>> open(int device) override;

 private:
  const Settings settings_;
  Transport& control_;
};

}  // namespace thinwire::transports::shm
