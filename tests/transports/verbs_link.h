// A fixture of the verbs transport's tests: a fake network, two endpoints, a connection, and what
// was logged. Owner: a test; one thread.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/transports/contract.h"
#include "tests/transports/verbs_fake.h"

namespace thinwire::transports::verbs {

inline std::string last_warning;
inline std::string all_warnings;
inline void keep_warning(LogLevel level, const char*, int, const char* message) {
  if (level != LogLevel::warn) return;
  last_warning = message;
  all_warnings += last_warning + "\n";
}

class VerbsDevice : public ::testing::Test {
 protected:
  VerbsDevice() {
    log_.set_sink(keep_warning);
    last_warning.clear();
    all_warnings.clear();
    config_.socket_ifname = "=lo";
  }
  std::unique_ptr<contract::FakeNetworkTransport> make(
      const std::vector<fakes::FakeHcaOptions>& hcas) {
    return std::make_unique<contract::FakeNetworkTransport>(hcas, config_, log_, clock_);
  }
  Config config_;
  Log log_;
  SteadyClock clock_;
};

class VerbsLink : public VerbsDevice {
 protected:
  // A connection from an endpoint over the devices `left` to one over `right`.
  void connect(const std::vector<fakes::FakeHcaOptions>& hcas, const std::vector<int>& left,
               const std::vector<int>& right) {
    disconnect();
    transport_ = make(hcas);
    left_ = std::move(transport_->open_merged(left).value());
    right_ = std::move(transport_->open_merged(right).value());
    auto listener = std::move(right_->listen().value());
    from_ = std::move(left_->connect(listener->handle(), {}).value());
    ASSERT_TRUE(until([&] {
      if (!to_) {
        auto accepted = right_->try_accept(*listener);
        if (accepted.ok()) to_ = std::move(accepted).value();
      }
      return to_ && from_->state().ok() && to_->state().ok();
    }));
  }
  void disconnect() {
    from_.reset();
    to_.reset();
    left_.reset();
    right_.reset();
    transport_.reset();
  }
  void TearDown() override { disconnect(); }

  // Polls both; false when it takes longer than only a hang can.
  bool until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      for (Endpoint* endpoint : {left_.get(), right_.get()}) {
        std::array<Completion, 16> polled;
        const std::size_t count = endpoint->poll(polled);
        for (std::size_t i = 0; i < count; ++i) done_.push_back(polled[i]);
      }
    }
    return true;
  }
  void progress_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    until([&] { return std::chrono::steady_clock::now() > end; });
  }
  fakes::FakeNetwork& network() { return transport_->network(); }

  std::unique_ptr<contract::FakeNetworkTransport> transport_;
  std::unique_ptr<Endpoint> left_, right_;
  std::unique_ptr<Connection> from_, to_;
  std::vector<Completion> done_;
};

}  // namespace thinwire::transports::verbs
