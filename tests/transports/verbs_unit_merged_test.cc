// Several devices as one, over a fake network: striping, and what happens when some of them fail.
#include <gmock/gmock.h>

#include <array>
#include <random>

#include "tests/transports/verbs_link.h"

namespace thinwire::transports::verbs {
namespace {

using contract::Bytes;
using contract::pattern;
using fakes::FakeHcaOptions;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<FakeHcaOptions> hcas(int count) {
  std::vector<FakeHcaOptions> made;
  for (int i = 0; i < count; ++i) {
    made.push_back(
        {.name = "mlx5_" + std::to_string(i), .address = "::ffff:10.0.0." + std::to_string(i + 1)});
  }
  return made;
}

std::string hca(int index) { return "mlx5_" + std::to_string(index); }

// Messages of all kinds: none, some slots, a whole write, several chunks.
std::size_t random_size(std::mt19937& random) {
  constexpr std::array<std::size_t, 8> kLargest{1,      300,    9000,   32000,
                                                200000, 400000, 600000, 1500000};
  return random() % kLargest[random() % kLargest.size()];
}

class VerbsMerged : public VerbsLink {
 protected:
  // `count` messages each way at once, of sizes and in an order that `seed` decides.
  void exchange(unsigned seed, std::size_t count = 64) {
    std::mt19937 random(seed);
    std::vector<Message> messages(2 * count);
    for (Message& each : messages) {
      each.sent = std::span(source_).subspan(random() % 4096, random_size(random));
      each.got.resize(each.sent.size());
    }
    done_.clear();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(post(messages[i], i, (random() & 1) != 0)) << "seed " << seed;
    }
    ASSERT_TRUE(until([&] { return done_.size() >= 2 * messages.size(); })) << "seed " << seed;
    EXPECT_EQ(done_.size(), 2 * messages.size());
    for (const Completion& each : done_) {
      ASSERT_TRUE(each.status.ok()) << each.status.text() << ", seed " << seed;
    }
    for (const Message& each : messages) {
      ASSERT_TRUE(std::ranges::equal(each.got, each.sent)) << each.got.size() << ", seed " << seed;
    }
  }
  // All paths are where they belong and work: what a device writes shows it.
  bool carries(int device) {
    const std::uint64_t before = network().bytes_written(hca(device));
    exchange(7, 8);
    return network().bytes_written(hca(device)) > before;
  }

 private:
  struct Message {
    std::span<const std::byte> sent;
    Bytes got;
  };
  void post(Message& message, std::size_t number, bool receive_first) {
    const bool forth = number % 2 == 0;
    Connection& sender = forth ? *from_ : *to_;
    Connection& receiver = forth ? *to_ : *from_;
    const ReceiveBuffer buffer{message.got.data(), message.got.size(), 7, {}};
    if (receive_first) {
      ASSERT_TRUE(receiver.post_receive({&buffer, 1}, number).ok());
    }
    Status status;
    ASSERT_TRUE(until([&] {
      status = sender.post_send(message.sent.data(), message.sent.size(), 7, {}, 1000 + number);
      return !status.is_would_block();
    }));
    ASSERT_TRUE(status.ok()) << status.text();
    if (!receive_first) {
      ASSERT_TRUE(receiver.post_receive({&buffer, 1}, number).ok());
    }
  }
  const Bytes source_ = pattern(2 << 20, 3);
};

TEST_F(VerbsMerged, CanMerge_TakesUpToEightDevicesOfOneLinkLayer) {
  std::vector<FakeHcaOptions> mixed = hcas(9);
  mixed.push_back({.name = "ib0", .link_layer = IBV_LINK_LAYER_INFINIBAND});
  const auto transport = make(mixed);
  EXPECT_TRUE(transport->can_merge(std::vector{0, 1}).ok());
  EXPECT_TRUE(transport->can_merge(std::vector{0, 1, 2, 3, 4, 5, 6, 7}).ok());
  EXPECT_FALSE(transport->can_merge(std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8}).ok());
  EXPECT_EQ(transport->can_merge(std::vector{0, 9}).code(), Code::invalid_config);
  EXPECT_EQ(transport->can_merge(std::vector{0, 10}).code(), Code::invalid_argument);
  EXPECT_FALSE(transport->open_merged(std::vector{0, 9}).ok());
  EXPECT_FALSE(transport->open_merged({}).ok());
}

TEST_F(VerbsMerged, LongMessages_AreStripedOverAllDevices) {
  for (const int members : {2, 4}) {
    std::vector<int> left, right;
    for (int i = 0; i < members; ++i) {
      left.push_back(i);
      right.push_back(members + i);
    }
    connect(hcas(2 * members), left, right);
    Bytes sent = pattern(16 << 20, 1), got(sent.size());
    const ReceiveBuffer buffer{got.data(), got.size(), 1, {}};
    ASSERT_TRUE(to_->post_receive({&buffer, 1}, 1).ok());
    ASSERT_TRUE(from_->post_send(sent.data(), sent.size(), 1, {}, 2).ok());
    ASSERT_TRUE(until([&] { return done_.size() == 2; }));
    EXPECT_TRUE(got == sent);
    for (int i = 0; i < members; ++i) {
      EXPECT_GT(network().bytes_written(hca(i)),
                sent.size() / static_cast<std::size_t>(members) / 2);
    }
    done_.clear();
  }
}

// Whichever side's port is the slower one: chunks are given out by what the pair can carry.
TEST_F(VerbsMerged, LongMessages_AreSharedOutByTheSlowerPortOfEachPair) {
  constexpr std::uint8_t kSlowLane = 4;  // 10 Gb/s, the others' is 25
  for (const std::size_t slow : {std::size_t{1}, std::size_t{3}}) {
    std::vector<FakeHcaOptions> made = hcas(4);
    made[slow].speed = kSlowLane;
    connect(made, {0, 1}, {2, 3});
    Bytes sent = pattern(14 << 20, 1), got(sent.size());
    const ReceiveBuffer buffer{got.data(), got.size(), 1, {}};
    ASSERT_TRUE(to_->post_receive({&buffer, 1}, 1).ok());
    ASSERT_TRUE(from_->post_send(sent.data(), sent.size(), 1, {}, 2).ok());
    ASSERT_TRUE(until([&] { return done_.size() == 2; }));
    EXPECT_TRUE(got == sent);
    const auto share =
        static_cast<double>(network().bytes_written(hca(1))) / static_cast<double>(sent.size());
    EXPECT_NEAR(share, 10.0 / 35, 0.05) << "device " << slow;
    done_.clear();
  }
}

TEST_F(VerbsMerged, PeersWithOtherNumbersOfDevices_UseThemAll) {
  for (const auto& [left, right] : {std::pair(1, 2), std::pair(2, 3), std::pair(4, 1)}) {
    std::vector<int> here, there;
    for (int i = 0; i < left; ++i) here.push_back(i);
    for (int i = 0; i < right; ++i) there.push_back(left + i);
    connect(hcas(left + right), here, there);
    for (int i = 0; i < left + right; ++i) EXPECT_TRUE(carries(i)) << left << " to " << right;
  }
}

// Wherever it happens, on whichever side and device, the one for messages included.
TEST_F(VerbsMerged, PortDownAmongManyMessages_NothingIsLostOrDoubled) {
  config_.peer_timeout_s = 50;  // sanitizers on a busy machine are slow
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    if (seed % 8 == 0) connect(hcas(4), {0, 1}, {2, 3});
    if (HasFatalFailure()) return;
    const std::string down = hca(static_cast<int>(random() % 4));
    network().set_port_after(static_cast<int>(random() % 250), down, false);
    exchange(seed);
    network().set_port(down, true);
    exchange(seed + 1000, 8);
    if (HasFatalFailure()) return;
  }
}

TEST_F(VerbsMerged, PortDown_LeavesAndComesBackWhenItIsUp) {
  for (const int device : {0, 3}) {
    connect(hcas(4), {0, 1}, {2, 3});
    network().set_port(hca(device), false);
    exchange(1);
    EXPECT_FALSE(carries(device));
    EXPECT_THAT(all_warnings, HasSubstr("the port is down"));
    EXPECT_THAT(all_warnings, HasSubstr(" goes on after "));
    EXPECT_TRUE(carries(1 - device % 2 + device / 2 * 2));
    network().set_port(hca(device), true);
    EXPECT_TRUE(until([&] { return carries(device) || HasFatalFailure(); }));
  }
}

TEST_F(VerbsMerged, PortThatFlapsAtRandom_NothingIsLostOrDoubled) {
  connect(hcas(4), {0, 1}, {2, 3});
  std::mt19937 random(5);
  for (unsigned round = 0; round < 60 && !HasFatalFailure(); ++round) {
    network().set_port_after(static_cast<int>(random() % 120), hca(static_cast<int>(random() % 2)),
                             random() % 3 != 0);
    exchange(round, 24);
    network().set_port(hca(0), true);
    network().set_port(hca(1), true);
  }
}

TEST_F(VerbsMerged, DeviceThatFailsForGood_IsDoneWithout) {
  for (const int device : {0, 1, 2, 3}) {
    connect(hcas(4), {0, 1}, {2, 3});
    exchange(1, 16);
    network().kill(hca(device));
    exchange(2);
    if (HasFatalFailure()) return;
    EXPECT_FALSE(carries(device));
    EXPECT_THAT(all_warnings, HasSubstr("device fatal"));
  }
}

// No event tells of it: it is found by what fails, and tried again later.
TEST_F(VerbsMerged, WireThatCarriesNothing_IsAvoided) {
  config_.peer_timeout_s = 4;
  for (const int device : {0, 3}) {
    connect(hcas(4), {0, 1}, {2, 3});
    network().set_wire(hca(device), false);
    exchange(3);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(carries(1 - device % 2 + device / 2 * 2));
    network().set_wire(hca(device), true);
    EXPECT_TRUE(until([&] { return carries(device) || HasFatalFailure(); }));
  }
}

TEST_F(VerbsMerged, AnyOneSendLost_NothingIsLostOrDoubled) {
  connect(hcas(4), {0, 1}, {2, 3});
  for (unsigned seed = 0; seed < 60 && !HasFatalFailure(); ++seed) {
    network().fail_send_after(static_cast<int>(seed * 5),
                              seed % 2 == 0 ? fakes::Loss::packet : fakes::Loss::acknowledgement);
    exchange(seed, 24);
  }
}

TEST_F(VerbsMerged, AllPortsDown_FailsBothSidesInBoundedTime) {
  config_.peer_timeout_s = 1;
  connect(hcas(4), {0, 1}, {2, 3});
  network().set_port(hca(0), false);
  exchange(1, 4);
  EXPECT_TRUE(from_->state().ok());
  network().set_port(hca(1), false);
  ASSERT_TRUE(until([&] { return from_->state().failed() && to_->state().failed(); }));
  EXPECT_EQ(from_->state().code(), Code::peer_lost);
  EXPECT_EQ(to_->state().code(), Code::peer_lost);
}

TEST_F(VerbsMerged, AllPortsDownForAWhile_GoesOnOverTheFirstThatComesBack) {
  connect(hcas(4), {0, 1}, {2, 3});
  network().set_port(hca(2), false);
  network().set_port(hca(3), false);
  progress_for(milliseconds(30));
  network().set_port(hca(3), true);
  exchange(1);
  EXPECT_FALSE(carries(2));
  EXPECT_TRUE(carries(3));
}

TEST_F(VerbsMerged, PortThatIsDownFromTheStart_IsTakenInLater) {
  connect(hcas(4), {0, 1}, {2, 3});
  network().set_port(hca(1), false);
  progress_for(milliseconds(20));
  auto listener = std::move(right_->listen().value());
  auto second = std::move(left_->connect(listener->handle(), {}).value());
  std::unique_ptr<Connection> accepted;
  ASSERT_TRUE(until([&] {
    auto taken = right_->try_accept(*listener);
    if (taken.ok()) accepted = std::move(taken).value();
    return accepted && second->state().ok();
  }));
  std::swap(from_, second);
  std::swap(to_, accepted);
  exchange(1);
  EXPECT_FALSE(carries(1));
  network().set_port(hca(1), true);
  EXPECT_TRUE(until([&] { return carries(1) || HasFatalFailure(); }));
}

}  // namespace
}  // namespace thinwire::transports::verbs
