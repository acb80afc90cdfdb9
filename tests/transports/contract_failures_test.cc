// Connections as they come and go: set-up, errors, closing, waking up.
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/transports/contract.h"

namespace thinwire::transports::contract {
namespace {

using Connections = Contract;

TEST_P(Connections, Probe_Devices_HaveNamesAndReasons) {
  const auto devices = transport_->probe();
  ASSERT_TRUE(devices.ok());
  ASSERT_FALSE(devices.value().empty());
  for (const NicInfo& device : devices.value()) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_FALSE(device.reason.empty());
    EXPECT_GT(device.speed_mbps, 0);
  }
  EXPECT_FALSE(transport_->open(static_cast<int>(devices.value().size())).ok());
  EXPECT_FALSE(transport_->open(-1).ok());
}

TEST_P(Connections, Capabilities_AreUsable) {
  EXPECT_GE(left_->capabilities().max_message_bytes, std::size_t{1} << 30);
  EXPECT_GT(left_->capabilities().preferred_piece_bytes, 0u);
}

TEST_P(Connections, Connect_BeforeTheAccept_WouldBlockOnPosts) {
  auto listener = right_->listen();
  ASSERT_TRUE(listener.ok());
  auto connection = left_->connect(listener.value()->handle(), {});
  ASSERT_TRUE(connection.ok());
  EXPECT_TRUE(connection.value()->state().is_would_block());
  const std::byte data{};
  EXPECT_TRUE(connection.value()->post_send(&data, 1, 0, {}, 1).is_would_block());
}

TEST_P(Connections, Hello_OfEverySize_IsDelivered) {
  auto listener = right_->listen();
  ASSERT_TRUE(listener.ok());
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kMaxHelloBytes}) {
    const Bytes hello = pattern(size, size);
    const Link link = connect_link(*listener.value(), hello);
    ASSERT_TRUE(link.to.connection);
    const auto got = link.to.connection->hello();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), hello.begin(), hello.end()));
    EXPECT_FALSE(link.to.connection->peer_name().empty());
    EXPECT_FALSE(link.from.connection->peer_name().empty());
  }
  const Bytes too_long(kMaxHelloBytes + 1);
  EXPECT_EQ(left_->connect(listener.value()->handle(), too_long).status().code(),
            Code::invalid_argument);
}

TEST_P(Connections, ManyPerListener_Interleaved_AreToldApart) {
  auto listener = right_->listen();
  ASSERT_TRUE(listener.ok());
  constexpr std::size_t kCount = 12;
  std::vector<Link> links(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::byte hello = static_cast<std::byte>(i);
    auto connection = left_->connect(listener.value()->handle(), {&hello, 1});
    ASSERT_TRUE(connection.ok());
    links[i].from = {left_.get(), std::move(connection).value()};
  }
  std::size_t accepted = 0;
  ASSERT_TRUE(progress_until([&] {
    auto taken = right_->try_accept(*listener.value());
    if (!taken.ok()) return accepted == kCount;
    const auto which = static_cast<std::size_t>(taken.value()->hello()[0]);
    links[which].to = {right_.get(), std::move(taken).value()};
    return ++accepted == kCount;
  }));
  listener.value().reset();  // does not matter to the accepted ones
  ASSERT_TRUE(progress_until([&] {
    for (const Link& link : links) {
      if (!link.from.connection->state().ok() || !link.to.connection->state().ok()) return false;
    }
    return true;
  }));
  for (std::size_t i = 0; i < kCount; ++i) {
    exchange(links[i].from, links[i].to, 1000 + i, 1, i % 2 == 0);
    exchange(links[i].to, links[i].from, 2000 + i, 1, i % 2 == 1);
  }
}

TEST_P(Connections, LongerThanItsBuffer_FailsBothSides) {
  for (const bool receive_first : {true, false}) {
    Link link = connect_link();
    Bytes small(10);
    const Bytes large = pattern(50000, 1);
    Bytes other(10);
    const auto waiting = receive(link.from, other, 77);
    std::uint64_t receiving = 0;
    if (receive_first) receiving = receive(link.to, small, 1);
    send(link.from, large, 1);
    for (int i = 0; i < 4; ++i) poll_once();
    if (!receive_first) receiving = receive(link.to, small, 1);
    ASSERT_TRUE(wait_done(receiving) && wait_done(waiting));
    EXPECT_EQ(completion(receiving).status.code(), Code::invalid_argument);
    EXPECT_EQ(completion(waiting).status.code(), Code::invalid_argument);
    EXPECT_EQ(link.to.connection->state().code(), Code::invalid_argument);
    EXPECT_EQ(link.from.connection->state().code(), Code::invalid_argument);
  }
}

TEST_P(Connections, GarbageHandle_IsInvalidArgument) {
  Handle handle;
  EXPECT_EQ(left_->connect(handle, {}).status().code(), Code::invalid_argument);
  const Bytes noise = pattern(kHandleBytes, 4);
  std::memcpy(handle.bytes.data(), noise.data(), kHandleBytes);
  EXPECT_EQ(left_->connect(handle, {}).status().code(), Code::invalid_argument);
}

TEST_P(Connections, PeerDestroyed_EveryPostFailsAndItSticks) {
  Link link = connect_link();
  std::vector<Bytes> buffers(5, Bytes(100));
  std::vector<std::uint64_t> cookies;
  for (Bytes& buffer : buffers) cookies.push_back(receive(link.from, buffer, 3));
  for (int i = 0; i < 4; ++i) poll_once();
  link.to.connection.reset();
  for (const std::uint64_t cookie : cookies) {
    ASSERT_TRUE(wait_done(cookie));
    EXPECT_EQ(completion(cookie).status.code(), Code::peer_lost);
  }
  EXPECT_EQ(link.from.connection->state().code(), Code::peer_lost);
  const ReceiveBuffer again{buffers[0].data(), 100, 3, {}};
  EXPECT_EQ(link.from.connection->post_receive({&again, 1}, 1).code(), Code::peer_lost);
  EXPECT_EQ(link.from.connection->post_send(buffers[0].data(), 1, 3, {}, 1).code(),
            Code::peer_lost);
}

TEST_P(Connections, PeerDestroyed_AfterItsSendsCompleted_DataStillArrives) {
  Link link = connect_link();
  const Bytes sent = pattern(20000, 6);
  Bytes got(sent.size());
  ASSERT_TRUE(wait_done(send(link.from, sent, 1)));
  link.from.connection.reset();
  const auto cookie = receive(link.to, got, 1);
  ASSERT_TRUE(wait_done(cookie));
  EXPECT_TRUE(completion(cookie).status.ok());
  EXPECT_TRUE(got == sent);
}

// The receiver had time to notice the end before it posts, one after the other.
TEST_P(Connections, PeerDestroyed_LongBeforeTheReceives_DataStillArrives) {
  Link link = connect_link();
  std::vector<Bytes> sent;
  std::vector<std::uint64_t> cookies;
  for (std::size_t i = 0; i < 5; ++i) {
    sent.push_back(pattern(1000 * i, i));
    cookies.push_back(send(link.from, sent[i], i));
  }
  for (const std::uint64_t cookie : cookies) ASSERT_TRUE(wait_done(cookie));
  link.from.connection.reset();
  const auto noticed = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < noticed) poll_once();
  for (std::size_t i = 0; i < sent.size(); ++i) {
    Bytes got(sent[i].size());
    const auto cookie = receive(link.to, got, i);
    ASSERT_TRUE(wait_done(cookie));
    ASSERT_TRUE(completion(cookie).status.ok()) << i;
    EXPECT_TRUE(got == sent[i]);
    for (int round = 0; round < 20; ++round) poll_once();
  }
  ASSERT_TRUE(progress_until([&] { return link.to.connection->state().failed(); }));
  EXPECT_EQ(link.to.connection->state().code(), Code::peer_lost);
}

TEST_P(Connections, Closing_WithPostsOutstanding_DropsThem) {
  Link link = connect_link();
  Bytes buffer(100);
  const Bytes large = pattern(8 << 20, 1);
  const auto receiving = receive(link.from, buffer, 1);
  const auto sending = send(link.from, large, 2);
  for (int i = 0; i < 4; ++i) poll_once();
  link.from.connection.reset();
  ASSERT_TRUE(progress_until([&] { return link.to.connection->state().failed(); }));
  EXPECT_FALSE(is_done(receiving));
  EXPECT_FALSE(is_done(sending));
  EXPECT_EQ(link.to.connection->state().code(), Code::peer_lost);
}

TEST_P(Connections, OneFails_OthersCarryOn) {
  auto listener = right_->listen();
  ASSERT_TRUE(listener.ok());
  Link doomed = connect_link(*listener.value());
  Link healthy = connect_link(*listener.value());
  doomed.to.connection.reset();
  ASSERT_TRUE(progress_until([&] { return doomed.from.connection->state().failed(); }));
  exchange(healthy.from, healthy.to, 5000, 1, true);
  exchange(healthy.to, healthy.from, 5000, 1, false);
}

TEST_P(Connections, Wait_WhenSomethingArrives_ReturnsWithoutPolling) {
  Link link = connect_link();
  const Bytes sent = pattern(100000, 3);
  Bytes got(sent.size());
  const auto cookie = receive(link.to, got, 1);
  // The receiving thread sleeps in wait() between polls; nothing else wakes it up.
  std::thread sender([&] {
    std::array<Completion, 4> polled;
    ASSERT_TRUE(link.from.connection->post_send(sent.data(), sent.size(), 1, {}, 1).ok());
    while (left_->poll(polled) == 0) left_->wait(1'000'000);
  });
  std::array<Completion, 4> polled;
  std::size_t count = 0;
  while ((count = right_->poll(polled)) == 0) right_->wait(60'000'000);
  // The sender may still depend on this side.
  sender.join();
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(polled[0].cookie, cookie);
  EXPECT_TRUE(got == sent);
}

TEST_P(Connections, Wait_WithAPostMadeMeanwhile_WakesUp) {
  Link link = connect_link();
  const Bytes sent = pattern(64, 3);
  Bytes got(sent.size());
  receive(link.to, got, 1);
  for (int i = 0; i < 100; ++i) poll_once();
  std::thread waiter([&] { left_->wait(60'000'000); });
  ASSERT_TRUE(link.from.connection->post_send(sent.data(), sent.size(), 1, {}, 1).ok());
  waiter.join();  // hangs for a minute, and so fails by the test's timeout, if it does not wake
}

TEST_P(Connections, ListenerDestroyed_WhileConnecting_EndsInPeerLost) {
  auto listener = right_->listen();
  ASSERT_TRUE(listener.ok());
  auto connection = left_->connect(listener.value()->handle(), {});
  ASSERT_TRUE(connection.ok());
  for (int i = 0; i < 200; ++i) poll_once();
  listener.value().reset();
  ASSERT_TRUE(progress_until([&] { return connection.value()->state().failed(); }));
  EXPECT_EQ(connection.value()->state().code(), Code::peer_lost);
}

INSTANTIATE_TEST_SUITE_P(Transport, Connections, ::testing::ValuesIn(cases()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Connections);

}  // namespace
}  // namespace thinwire::transports::contract
