// Devices, memory and failing paths of the verbs transport, over a fake network.
#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "tests/transports/verbs_link.h"
#include "transports/verbs/registrations.h"

namespace thinwire::transports::verbs {
namespace {

using contract::Bytes;
using contract::pattern;
using fakes::FakeHcaOptions;
using fakes::Loss;
using ::testing::HasSubstr;

TEST_F(VerbsDevice, Probe_DescribesThePort) {
  const auto devices = make({{.name = "mlx5_0"}, {.name = "mlx5_1"}})->probe();
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices.value().size(), 2u);
  EXPECT_EQ(devices.value()[1].name, "mlx5_1");
  EXPECT_EQ(devices.value()[1].speed_mbps, 100000);
  EXPECT_EQ(devices.value()[1].pci_path, "");
  EXPECT_THAT(devices.value()[1].reason, HasSubstr("RoCE port 1, GID 1, 10.0.0.1, RoCEv2"));
}

TEST_F(VerbsDevice, Probe_KnowsTheRailsThatNcclIbHcaNames_AndComplainsOfOthers) {
  config_.ib_hca = "=mlx5_0:1:2:0,mlx5_1::2:16384";
  const auto devices = make({{.name = "mlx5_0"}, {.name = "mlx5_1"}})->probe();
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(devices.value()[0].ids, (RailIds{2, 0}));
  EXPECT_EQ(devices.value()[1].ids, (RailIds{2, kUndefinedId}));
  EXPECT_THAT(last_warning, HasSubstr("NCCL_IB_HCA: the plane 16384 of mlx5_1::2:16384"));
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
  void open(const FakeHcaOptions& hca) { open_all({hca}); }
  void open_all(const std::vector<FakeHcaOptions>& hcas) {
    network_ = std::make_unique<fakes::FakeNetwork>(hcas);
    api_ = std::make_unique<fakes::FakeVerbs>(*network_);
    settings_ = std::make_unique<Settings>(Settings{config_, log_, clock_, *api_});
    const auto devices = find_devices(*settings_, "/nonexistent");
    for (const Device& device : devices.value()) {
      contexts_.push_back(std::move(Context::open(*settings_, device).value()));
    }
    registrations_ = std::make_unique<Registrations>(contexts_);
  }
  void TearDown() override {
    registrations_.reset();
    contexts_.clear();
    if (network_) {
      EXPECT_EQ(network_->live_objects(), 0);
    }
  }
  std::unique_ptr<fakes::FakeNetwork> network_;
  std::unique_ptr<fakes::FakeVerbs> api_;
  std::unique_ptr<Settings> settings_;
  Contexts contexts_;
  std::unique_ptr<Registrations> registrations_;
};

TEST_F(VerbsMemory, OverlappingKeys_ShareOneRegistrationUntilTheLastGoes) {
  open({});
  alignas(4096) static std::byte memory[4 * 4096];
  const auto all = registrations_->add(memory, sizeof memory, MemoryKind::host);
  const auto part = registrations_->add(memory + 5000, 100, MemoryKind::host);
  EXPECT_EQ(network_->registrations_made(), 1);
  EXPECT_EQ(registrations_->find(all.value())->local_keys,
            registrations_->find(part.value())->local_keys);
  EXPECT_TRUE(registrations_->remove(all.value()).ok());
  EXPECT_EQ(registrations_->find(all.value()), nullptr);
  EXPECT_NE(registrations_->find(part.value()), nullptr);
  EXPECT_EQ(registrations_->regions(), 1u);
  EXPECT_TRUE(registrations_->remove(part.value()).ok());
  EXPECT_EQ(registrations_->regions(), 0u);
  EXPECT_EQ(registrations_->remove(part.value()).code(), Code::invalid_argument);
}

TEST_F(VerbsMemory, OfSeveralDevices_IsRegisteredWithEachOne) {
  open_all({{.name = "a"}, {.name = "b"}, {.name = "c"}});
  std::byte memory[64];
  const auto key = registrations_->add(memory, sizeof memory, MemoryKind::host);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(network_->registrations_made(), 3);
  const Keys keys = registrations_->find(key.value())->remote_keys;
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_NE(keys[1], keys[2]);
  EXPECT_EQ(keys[3], 0u);
  EXPECT_TRUE(registrations_->remove(key.value()).ok());
}

TEST_F(VerbsMemory, OfADeviceThatFailed_IsRegisteredWithTheOthers) {
  open_all({{.name = "a"}, {.name = "b"}});
  std::byte memory[64];
  network_->kill("b");
  const auto key = registrations_->add(memory, sizeof memory, MemoryKind::host);
  ASSERT_TRUE(key.ok());
  EXPECT_NE(registrations_->find(key.value())->local_keys[0], 0u);
  EXPECT_EQ(registrations_->find(key.value())->local_keys[1], 0u);
  EXPECT_TRUE(contexts_[1]->is_dead());
  EXPECT_TRUE(registrations_->remove(key.value()).ok());
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
class VerbsFailures : public VerbsLink {
 protected:
  void connect() { VerbsLink::connect({FakeHcaOptions{}}, {0}, {0}); }
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
  progress_for(std::chrono::milliseconds(50));
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
  EXPECT_THAT(all_warnings, HasSubstr("port is down"));
}

TEST_F(VerbsFailures, Events_AreToldInWords) {
  connect();
  network().raise("fake0", IBV_EVENT_GID_CHANGE);
  ASSERT_TRUE(until([&] { return all_warnings.find("GID table") != std::string::npos; }));
  exchange(2, 1000);
}

}  // namespace
}  // namespace thinwire::transports::verbs
