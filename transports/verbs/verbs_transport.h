// The verbs transport: RDMA over InfiniBand and RoCE by libibverbs, on the devices that
// NCCL_IB_HCA admits. Each connection also has one of a control transport (TCP in the product),
// over which the two sides introduce themselves, tell errors and see one another's death.
// Owner: the composition root. probe() and open() by one thread at a time.
//
// libibverbs.so.1 is loaded at the first probe() and stays loaded for the life of the process.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/transport.h"

namespace thinwire::transports::verbs {

class Api;

class VerbsTransport final : public Transport {
 public:
  // `config` is copied; the others outlive the transport.
  VerbsTransport(const Config& config, const Log& log, const Clock& clock, Transport& control);
  // The same with another libibverbs, and another sysfs than /sys, for tests.
  VerbsTransport(const Config& config, const Log& log, const Clock& clock, Transport& control,
                 std::unique_ptr<Api> api, std::string_view sysfs_root);
  ~VerbsTransport() override;

  std::string_view name() const override { return "verbs"; }

  // The ports that can be used. Code::system_error: this build or this host has no libibverbs, or
  // no such port. Looks once and keeps the answer.
  Result<std::vector<NicInfo>> probe() override;
  Result<std::unique_ptr<Endpoint>> open(int device) override;
  // Ports of one card or of several, all of them InfiniBand or all RoCE.
  Status can_merge(std::span<const int> devices) override;
  Result<std::unique_ptr<Endpoint>> open_merged(std::span<const int> devices) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinwire::transports::verbs
