// MemoryTransport: the transport interface over a MemoryFabric; one process, nothing on any wire.
// For tests. Used as transport.h says; different endpoints may be used by different threads.
#pragma once

#include "transports/memory/fabric.h"
#include "transports/transport.h"

namespace thinwire::transports::memory {

class MemoryTransport final : public Transport {
 public:
  explicit MemoryTransport(MemoryFabric& fabric) : fabric_(fabric) {}

  std::string_view name() const override { return "memory"; }
  Result<std::vector<NicInfo>> probe() override;
  // Any number of endpoints a device.
  Result<std::unique_ptr<Endpoint>> open(int device) override;

 private:
  MemoryFabric& fabric_;
};

}  // namespace thinwire::transports::memory
