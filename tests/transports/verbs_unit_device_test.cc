// Devices, memory and failing paths of the verbs transport, over a fake network.
#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <string>

#include "tests/transports/contract.h"
#include "tests/transports/verbs_fake.h"
#include "transports/verbs/registrations.h"

namespace thinwire::transports::verbs {
namespace {

using contract::Bytes;
using contract::pattern;
using fakes::FakeHcaOptions;
using fakes::Loss;
using ::testing::HasSubstr;

std::string last_warning;
void keep_warning(LogLevel level, const char*, int, const char* message) {
  if (level == LogLevel::warn) last_warning = message;
}

class VerbsDevice : public ::testing::Test {
 protected:
  VerbsDevice() {
    log_.set_sink(keep_warning);
    config_.socket_ifname = "=lo";
  }
  std::unique_ptr<contract::FakeNetworkTransport> make(const std::vector<FakeHcaOptions>& hcas) {
    return std::make_unique<contract::FakeNetworkTransport>(hcas, config_, log_, clock_);
  }
  Config config_;
  Log log_;
  SteadyClock clock_;
};

TEST_F(VerbsDevice, Probe_DescribesThePort) {
  const auto devices = make({{.name = "mlx5_0"}, {.name = "mlx5_1"}})->probe();
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices.value().size(), 2u);
  EXPECT_EQ(devices.value()[1].name, "mlx5_1");
  EXPECT_EQ(devices.value()[1].speed_mbps, 100000);
  EXPECT_EQ(devices.value()[1].pci_path, "");
  EXPECT_THAT(devices.value()[1].reason, HasSubstr("RoCE port 1, GID 1, 10.0.0.1, RoCEv2"));
}

TEST_F(VerbsDevice, Probe_OfNothingUsable_SaysWhy) {
  EXPECT_THAT(make({})->probe().status().text(), HasSubstr("no RDMA device"));
  config_.ib_hca = "=other";
  EXPECT_THAT(make({{.name = "mlx5_0"}})->probe().status().text(), HasSubstr("NCCL_IB_HCA"));
  config_.ib_hca = "";
  const auto down = make({FakeHcaOptions{}});
  down->network().set_port("fake0", false);
  EXPECT_FALSE(down->probe().ok());
}

// A Context with nothing above it.
class VerbsMemory : public VerbsDevice {
 protected:
  void open(const FakeHcaOptions& hca) {
    network_ = std::make_unique<fakes::FakeNetwork>(std::vector{hca});
    api_ = std::make_unique<fakes::FakeVerbs>(*network_);
    settings_ = std::make_unique<Settings>(Settings{config_, log_, clock_, *api_});
    const auto devices = find_devices(*settings_, "/nonexistent");
    context_ = std::move(Context::open(*settings_, devices.value()[0]).value());
    registrations_ = std::make_unique<Registrations>(*context_);
  }
  void TearDown() override {
    registrations_.reset();
    context_.reset();
    if (network_) {
      EXPECT_EQ(network_->live_objects(), 0);
    }
  }
  std::unique_ptr<fakes::FakeNetwork> network_;
  std::unique_ptr<fakes::FakeVerbs> api_;
  std::unique_ptr<Settings> settings_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<Registrations> registrations_;
};

TEST_F(VerbsMemory, OverlappingKeys_ShareOneRegistrationUntilTheLastGoes) {
  open({});
  alignas(4096) static std::byte memory[4 * 4096];
  const auto all = registrations_->add(memory, sizeof memory, MemoryKind::host);
  const auto part = registrations_->add(memory + 5000, 100, MemoryKind::host);
  EXPECT_EQ(network_->registrations_made(), 1);
  EXPECT_EQ(registrations_->find(all.value())->local_key,
            registrations_->find(part.value())->local_key);
  EXPECT_TRUE(registrations_->remove(all.value()).ok());
  EXPECT_EQ(registrations_->find(all.value()), nullptr);
  EXPECT_NE(registrations_->find(part.value()), nullptr);
  EXPECT_EQ(registrations_->regions(), 1u);
  EXPECT_TRUE(registrations_->remove(part.value()).ok());
  EXPECT_EQ(registrations_->regions(), 0u);
  EXPECT_EQ(registrations_->remove(part.value()).code(), Code::invalid_argument);
}

TEST_F(VerbsMemory, NoBytes_NeedNoRegistration) {
  open({});
  const auto key = registrations_->add(nullptr, 0, MemoryKind::host);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(network_->registrations_made(), 0);
  EXPECT_TRUE(registrations_->remove(key.value()).ok());
}

TEST_F(VerbsMemory, DmaBuf_IsRegisteredWhereTheDeviceCan) {
  open({.dmabuf = true});
  std::byte memory[64];
  const auto key = registrations_->add_dmabuf(memory, sizeof memory, 0, 5);
  ASSERT_TRUE(key.ok());
  EXPECT_TRUE(registrations_->find(key.value())->device_memory);
  EXPECT_TRUE(registrations_->remove(key.value()).ok());
}

TEST_F(VerbsMemory, DmaBuf_WhereTheDeviceCannot_SaysNotSupported) {
  open({});
  std::byte memory[64];
  const auto key = registrations_->add_dmabuf(memory, sizeof memory, 0, 5);
  EXPECT_EQ(key.status().code(), Code::system_error);
  EXPECT_EQ(key.status().native(), EOPNOTSUPP);
}

// Two endpoints of one device and a connection between them, over queue pairs that fail.
class VerbsFailures : public VerbsDevice {
 protected:
  void connect() {
    transport_ = make({FakeHcaOptions{}});
    left_ = std::move(transport_->open(0).value());
    right_ = std::move(transport_->open(0).value());
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
  void TearDown() override {
    from_.reset();
    to_.reset();
    left_.reset();
    right_.reset();
  }
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
  // Sends `count` messages of `bytes` and checks what arrives.
  void exchange(std::size_t count, std::size_t bytes) {
    std::vector<Bytes> sent, got;
    for (std::size_t i = 0; i < count; ++i) {
      sent.push_back(pattern(bytes + i, i));
      got.emplace_back(bytes + i);
    }
    done_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const ReceiveBuffer buffer{got[i].data(), got[i].size(), 7, {}};
      ASSERT_TRUE(to_->post_receive({&buffer, 1}, i).ok());
      Status status;
      ASSERT_TRUE(until([&] {
        status = from_->post_send(sent[i].data(), sent[i].size(), 7, {}, 1000 + i);
        return !status.is_would_block();
      }));
      ASSERT_TRUE(status.ok()) << status.text();
    }
    ASSERT_TRUE(until([&] { return done_.size() >= 2 * count; }));
    for (const Completion& each : done_) EXPECT_TRUE(each.status.ok()) << each.status.text();
    EXPECT_EQ(done_.size(), 2 * count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(got[i] == sent[i]) << i;
  }
  fakes::FakeNetwork& network() { return transport_->network(); }

  std::unique_ptr<contract::FakeNetworkTransport> transport_;
  std::unique_ptr<Endpoint> left_, right_;
  std::unique_ptr<Connection> from_, to_;
  std::vector<Completion> done_;
};

// Whatever is lost, and wherever: nothing is missing, nothing comes twice.
TEST_F(VerbsFailures, AnyOneSendLost_NothingIsLostOrDoubled) {
  connect();
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{20000}, std::size_t{700000}}) {
    for (const Loss loss : {Loss::packet, Loss::acknowledgement}) {
      for (const int after : {0, 1, 2, 3, 5, 8, 13, 21}) {
        network().fail_send_after(after, loss);
        exchange(12, bytes);
        if (HasFatalFailure()) FAIL() << bytes << " bytes, after " << after;
      }
    }
  }
}

TEST_F(VerbsFailures, PathThatFailsSeveralTimesInARow_IsMended) {
  connect();
  network().fail_send_after(4, Loss::acknowledgement, 3);
  exchange(20, 300000);
  network().fail_send_after(2, Loss::packet, 3);
  exchange(20, 3000);
}

TEST_F(VerbsFailures, PortDownForAWhile_GoesOnAfterwards) {
  connect();
  network().set_port("fake0", false);
  Bytes sent = pattern(300000, 1), got(300000);
  const ReceiveBuffer buffer{got.data(), got.size(), 1, {}};
  ASSERT_TRUE(to_->post_receive({&buffer, 1}, 1).ok());
  ASSERT_TRUE(from_->post_send(sent.data(), sent.size(), 1, {}, 2).ok());
  const auto down_until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  ASSERT_TRUE(until([&] { return std::chrono::steady_clock::now() > down_until; }));
  EXPECT_TRUE(done_.empty());
  network().set_port("fake0", true);
  ASSERT_TRUE(until([&] { return done_.size() == 2; }));
  EXPECT_TRUE(got == sent);
}

TEST_F(VerbsFailures, PortDownForGood_FailsBothSidesAndNamesTheCause) {
  config_.peer_timeout_s = 1;
  connect();
  network().set_port("fake0", false);
  Bytes sent = pattern(300000, 1), got(300000);
  const ReceiveBuffer buffer{got.data(), got.size(), 1, {}};
  ASSERT_TRUE(to_->post_receive({&buffer, 1}, 1).ok());
  ASSERT_TRUE(from_->post_send(sent.data(), sent.size(), 1, {}, 2).ok());
  ASSERT_TRUE(until([&] { return from_->state().failed() && to_->state().failed(); }));
  EXPECT_EQ(from_->state().code(), Code::peer_lost);
  EXPECT_EQ(to_->state().code(), Code::peer_lost);
  ASSERT_TRUE(until([&] { return done_.size() == 2; }));
  EXPECT_THAT(last_warning, HasSubstr("fake0"));
}

TEST_F(VerbsFailures, Events_AreToldInWords) {
  connect();
  network().raise("fake0", IBV_EVENT_GID_CHANGE);
  ASSERT_TRUE(until([&] { return last_warning.find("GID table") != std::string::npos; }));
  exchange(2, 1000);
}

}  // namespace
}  // namespace thinwire::transports::verbs
