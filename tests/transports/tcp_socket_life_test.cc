// Peers that are late, stopped or gone; descriptors; forked children.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "tests/transports/contract.h"
#include "tests/transports/tcp_sockets.h"

namespace thinwire::transports::tcp {
namespace {

TEST(TcpLife, PeerThatDoesNotRead_BeyondThePeerTimeout_IsMerelyLate) {
  Config config = loopback_config();
  config.peer_timeout_s = 1;
  config.tcp_window_bytes = 64 << 20;  // the socket fills up, not the window
  const SteadyClock clock;
  TcpPair pair(config, clock);
  ASSERT_TRUE(pair.connect());
  const contract::Bytes sent = contract::pattern(32 << 20, 1);
  contract::Bytes got(sent.size());
  ASSERT_TRUE(pair.from->post_send(sent.data(), sent.size(), 1, {}, 1).ok());
  pair.poll_right = false;
  const auto late_until = std::chrono::steady_clock::now() + std::chrono::milliseconds(3500);
  while (std::chrono::steady_clock::now() < late_until) {
    pair.poll_once();
    pair.left->wait(50'000);
  }
  EXPECT_TRUE(pair.from->state().ok()) << pair.from->state().text();
  EXPECT_TRUE(pair.left_done.empty());
  pair.poll_right = true;
  const ReceiveBuffer buffer{got.data(), got.size(), 1, {}};
  ASSERT_TRUE(pair.to->post_receive({&buffer, 1}, 2).ok());
  ASSERT_TRUE(pair.progress_until([&] { return !pair.right_done.empty(); }));
  EXPECT_TRUE(got == sent);
}

TEST(TcpLife, Heartbeats_WithAPeerThatNeverPolls_FindIt) {
  Config config = loopback_config();
  config.heartbeat_s = 1;
  config.peer_timeout_s = 5;
  ManualClock clock;
  TcpPair pair(config, clock);
  ASSERT_TRUE(pair.connect());
  const auto let_pass = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      clock.advance_ns(1'000'000'000);
      // Twice on each side: the ping travels, then its answer.
      for (int polls = 0; polls < 50; ++polls) pair.poll_once();
    }
  };
  let_pass(60);
  ASSERT_TRUE(pair.from->state().ok()) << "a peer that answers is alive";
  pair.poll_right = false;
  let_pass(4);
  EXPECT_TRUE(pair.from->state().ok());
  let_pass(6);
  EXPECT_EQ(pair.from->state().code(), Code::peer_lost);
}

TEST(TcpLife, WithoutHeartbeats_APeerThatNeverPolls_IsNoError) {
  ManualClock clock;
  TcpPair pair(loopback_config(), clock);
  ASSERT_TRUE(pair.connect());
  pair.poll_right = false;
  for (int i = 0; i < 100; ++i) {
    clock.advance_ns(3600'000'000'000);
    pair.poll_once();
  }
  EXPECT_TRUE(pair.from->state().ok());
}

TEST(TcpLife, PeerProcessKilled_FailsEveryPost) {
  const SteadyClock clock;
  TcpPair pair(loopback_config(), clock);
  auto listener = pair.listen();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    TcpPair own(loopback_config(), clock);
    auto connection = own.left->connect(listener->handle(), {});
    for (;;) own.poll_once();
  }
  ASSERT_TRUE(pair.progress_until([&] {
    auto accepted = pair.right->try_accept(*listener);
    if (accepted.ok()) pair.to = std::move(accepted).value();
    return pair.to != nullptr;
  }));
  contract::Bytes buffer(100);
  const ReceiveBuffer posted{buffer.data(), buffer.size(), 1, {}};
  ASSERT_TRUE(pair.to->post_receive({&posted, 1}, 1).ok());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(pair.progress_until([&] { return !pair.right_done.empty(); }));
  EXPECT_EQ(pair.right_done[0].status.code(), Code::peer_lost);
  EXPECT_EQ(pair.to->state().code(), Code::peer_lost);
}

TEST(TcpLife, ForkedChild_NeitherDisturbsNorHidesTheEnd) {
  const SteadyClock clock;
  TcpPair pair(loopback_config(), clock);
  ASSERT_TRUE(pair.connect());
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte;
    ::close(gate[1]);
    [[maybe_unused]] const ssize_t n = ::read(gate[0], &byte, 1);
    ::_exit(0);
  }
  ::close(gate[0]);
  EXPECT_TRUE(pair.transfer(8, 1000));
  // The child still holds copies of the sockets.
  pair.from.reset();
  EXPECT_TRUE(pair.progress_until([&] { return pair.to->state().failed(); }));
  ::close(gate[1]);
  ::waitpid(child, nullptr, 0);
}

TEST(TcpLife, HundredCycles_LeaveNoDescriptor) {
  const SteadyClock clock;
  Config config = loopback_config();
  config.tcp_streams = 3;
  { TcpPair first(config, clock); }
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    TcpPair pair(config, clock);
    ASSERT_TRUE(pair.connect());
    ASSERT_TRUE(pair.transfer(1, 100));
    if (i % 3 == 0) pair.from.reset();
    if (i % 3 == 1) pair.to.reset();
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(TcpLife, NothingListens_RetriesUntilTheTimeout) {
  Config config = loopback_config();
  config.connect_timeout_s = 20;
  ManualClock clock;
  TcpPair pair(config, clock);
  auto listener = pair.listen();
  const Handle handle = listener->handle();
  listener.reset();
  auto connection = std::move(pair.left->connect(handle, {})).value();
  for (int second = 0; second < 19; ++second) {
    clock.advance_ns(1'000'000'000);
    for (int i = 0; i < 10; ++i) pair.poll_once();
    EXPECT_TRUE(connection->state().is_would_block());
  }
  clock.advance_ns(2'000'000'000);
  ASSERT_TRUE(pair.progress_until([&] { return connection->state().failed(); }));
  EXPECT_EQ(connection->state().code(), Code::peer_lost);
  EXPECT_EQ(connection->state().native(), ECONNREFUSED);
}

TEST(TcpLife, UnknownCongestionControl_IsNoFailure) {
  Config config = loopback_config();
  config.tcp_congestion = "no_such_algorithm";
  const SteadyClock clock;
  TcpPair pair(config, clock);
  ASSERT_TRUE(pair.connect());
  EXPECT_TRUE(pair.transfer(1, 1000));
}

TEST(TcpLife, FilterThatMatchesNothing_IsInvalidConfig) {
  Config config = loopback_config();
  config.socket_ifname = "=no-such-interface";
  const SteadyClock clock;
  Log log([](LogLevel, const char*, int, const char*) {});
  TcpTransport transport(config, log, clock);
  EXPECT_EQ(transport.probe().status().code(), Code::invalid_config);
  EXPECT_EQ(transport.open(0).status().code(), Code::invalid_config);
}

}  // namespace
}  // namespace thinwire::transports::tcp
