// Whoever connects without the token is closed, counted, and disturbs nobody.
#include "tests/transports/tcp_sockets.h"

namespace thinwire::transports::tcp {
namespace {

class Strangers : public ::testing::Test {
 protected:
  static Config config() {
    Config config = loopback_config();
    config.tcp_streams = 2;
    config.connect_timeout_s = 30;
    return config;
  }
  std::uint64_t refused() const { return pair_.right->counters().strangers_refused; }
  // Waits until the listener closes the socket.
  bool is_closed(const UniqueFd& socket) {
    return pair_.progress_until([&] { return is_closed_by_peer(socket); });
  }
  std::array<std::byte, kIntroductionBytes> encoded(const Introduction& introduction) {
    std::array<std::byte, kIntroductionBytes> bytes;
    encode_introduction(introduction, bytes);
    return bytes;
  }
  void pass_seconds(std::int64_t seconds) { clock_.advance_ns(seconds * 1'000'000'000); }
  void a_real_peer_still_gets_through() {
    ASSERT_TRUE(pair_.connect(*listener_));
    EXPECT_TRUE(pair_.transfer(4, 100'000));
  }

  ManualClock clock_;
  TcpPair pair_{config(), clock_};
  std::unique_ptr<Listener> listener_ = pair_.listen();
  UniqueFd stranger_ = connect_plainly(address_of(*listener_));
};

TEST_F(Strangers, WrongToken_IsToldAndClosed) {
  Introduction introduction = introduction_for(*listener_);
  introduction.token[3] ^= std::byte{1};
  send_bytes(stranger_, encoded(introduction));
  EXPECT_TRUE(is_closed(stranger_));
  EXPECT_EQ(refused(), 1u);
  a_real_peer_still_gets_through();
}

TEST_F(Strangers, WrongToken_OfAConnectingPeer_EndsInPeerLost) {
  HandleInfo info = decode_handle(listener_->handle()).value();
  info.token[0] ^= std::byte{1};
  auto connection = std::move(pair_.left->connect(encode_handle(info), {})).value();
  ASSERT_TRUE(pair_.progress_until([&] { return connection->state().failed(); }));
  EXPECT_EQ(connection->state().code(), Code::peer_lost);
}

TEST_F(Strangers, Garbage_IsClosedAtOnce) {
  const std::string_view request = "GET / HTTP/1.1\r\n\r\n";
  send_bytes(stranger_, std::as_bytes(std::span(request.data(), request.size())));
  EXPECT_TRUE(is_closed(stranger_));
  EXPECT_EQ(refused(), 1u);
  a_real_peer_still_gets_through();
}

TEST_F(Strangers, OtherVersion_IsAnsweredWithOurs) {
  auto bytes = encoded(introduction_for(*listener_));
  bytes[4] = std::byte{99};
  send_bytes(stranger_, std::span(bytes).first(50));  // its introduction may be shorter
  std::array<std::byte, kReplyBytes> reply{};
  std::size_t received = 0;
  ASSERT_TRUE(pair_.progress_until([&] {
    const ssize_t n =
        ::recv(stranger_.get(), reply.data() + received, kReplyBytes - received, MSG_DONTWAIT);
    if (n > 0) received += static_cast<std::size_t>(n);
    return received == kReplyBytes;
  }));
  EXPECT_EQ(decode_reply(reply).status().code(), Code::peer_lost);
  EXPECT_EQ(refused(), 1u);
}

TEST_F(Strangers, SilentOne_IsClosedAfterItsTime) {
  for (int i = 0; i < 100; ++i) pair_.poll_once();
  EXPECT_FALSE(is_closed_by_peer(stranger_));
  a_real_peer_still_gets_through();
  pass_seconds(10);
  EXPECT_TRUE(is_closed(stranger_));
  EXPECT_EQ(refused(), 1u);
}

TEST_F(Strangers, SlowOne_IsClosedThoughItKeepsTalking) {
  const auto bytes = encoded(introduction_for(*listener_));
  for (std::size_t i = 0; i < 10; ++i) {
    send_bytes(stranger_, std::span(bytes).subspan(i, 1));
    for (int polls = 0; polls < 100; ++polls) pair_.poll_once();
  }
  a_real_peer_still_gets_through();
  pass_seconds(10);
  EXPECT_TRUE(is_closed(stranger_));
  EXPECT_EQ(refused(), 1u);
}

TEST_F(Strangers, SlowButHonestPeer_IsAdmitted) {
  Introduction introduction = introduction_for(*listener_);
  const auto bytes = encoded(introduction);
  for (std::size_t i = 0; i < kIntroductionBytes; i += 13) {
    send_bytes(stranger_, std::span(bytes).subspan(i, std::min<std::size_t>(13, 208 - i)));
    for (int polls = 0; polls < 20; ++polls) pair_.poll_once();
  }
  ASSERT_TRUE(pair_.progress_until([&] { return pair_.right->try_accept(*listener_).ok(); }));
  EXPECT_EQ(refused(), 0u);
}

TEST_F(Strangers, PortScan_IsCounted) {
  for (int i = 0; i < 10; ++i) connect_plainly(address_of(*listener_));
  ASSERT_TRUE(pair_.progress_until([&] { return refused() == 10; }));
  a_real_peer_still_gets_through();
}

TEST_F(Strangers, MoreThanCanWait_TheOldestGoesFirst) {
  std::vector<UniqueFd> crowd;
  for (int i = 0; i < 80; ++i) crowd.push_back(connect_plainly(address_of(*listener_)));
  EXPECT_TRUE(is_closed(stranger_));
  EXPECT_FALSE(is_closed_by_peer(crowd.back()));
  a_real_peer_still_gets_through();
  EXPECT_LT(refused(), 25u);
}

TEST_F(Strangers, HalfOfAConnection_IsDroppedAfterTheConnectTimeout) {
  Introduction introduction = introduction_for(*listener_);
  introduction.stream_count = 2;  // and the other one never comes
  send_bytes(stranger_, encoded(introduction));
  for (int i = 0; i < 100; ++i) pair_.poll_once();
  pass_seconds(10);
  a_real_peer_still_gets_through();
  EXPECT_FALSE(is_closed_by_peer(stranger_));
  pass_seconds(31);
  EXPECT_TRUE(is_closed(stranger_));
}

}  // namespace
}  // namespace thinwire::transports::tcp
