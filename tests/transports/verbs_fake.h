// The verbs transport over a fake libibverbs within the process, and TCP's control connections on
// loopback. Owner: a test; one thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "tests/fakes/fake_verbs.h"
#include "transports/tcp/tcp_transport.h"
#include "transports/verbs/verbs_transport.h"

namespace thinwire::transports::contract {

class FakeNetworkTransport final : public Transport {
 public:
  FakeNetworkTransport(const std::vector<fakes::FakeHcaOptions>& hcas, const Config& config,
                       const Log& log, const Clock& clock)
      : network_(hcas),
        control_(config, log, clock),
        transport_(std::in_place, config, log, clock, control_,
                   std::make_unique<fakes::FakeVerbs>(network_), "/nonexistent") {}
  ~FakeNetworkTransport() override {
    transport_.reset();
    EXPECT_EQ(network_.live_objects(), 0);
  }
  std::string_view name() const override { return transport_->name(); }
  Result<std::vector<NicInfo>> probe() override { return transport_->probe(); }
  Result<std::unique_ptr<Endpoint>> open(int device) override { return transport_->open(device); }
  Status can_merge(std::span<const int> devices) override { return transport_->can_merge(devices); }
  Result<std::unique_ptr<Endpoint>> open_merged(std::span<const int> devices) override {
    return transport_->open_merged(devices);
  }
  fakes::FakeNetwork& network() { return network_; }

 private:
  fakes::FakeNetwork network_;
  tcp::TcpTransport control_;
  std::optional<verbs::VerbsTransport> transport_;
};

// The same where device i is made of the devices in groups[i].
class FakeMergedTransport final : public Transport {
 public:
  FakeMergedTransport(const std::vector<fakes::FakeHcaOptions>& hcas,
                      std::vector<std::vector<int>> groups, const Config& config, const Log& log,
                      const Clock& clock)
      : transport_(hcas, config, log, clock), groups_(std::move(groups)) {}
  std::string_view name() const override { return transport_.name(); }
  Result<std::vector<NicInfo>> probe() override {
    auto found = transport_.probe();
    if (!found.ok()) return found.status();
    std::vector<NicInfo> devices = std::move(found).value();
    devices.resize(groups_.size());
    return devices;
  }
  Result<std::unique_ptr<Endpoint>> open(int device) override {
    if (device < 0 || static_cast<std::size_t>(device) >= groups_.size()) {
      return Status(Code::invalid_argument, "no such device", device);
    }
    return transport_.open_merged(groups_[static_cast<std::size_t>(device)]);
  }

 private:
  FakeNetworkTransport transport_;
  const std::vector<std::vector<int>> groups_;
};

}  // namespace thinwire::transports::contract
