// Decisions without sockets: striping, liveness, numbers of streams.
#include <gtest/gtest.h>

#include "transports/tcp/liveness.h"
#include "transports/tcp/settings.h"
#include "transports/tcp/striping.h"

namespace thinwire::transports::tcp {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

// Streams that drain at given rates; the sender keeps a bounded amount under way.
class SimulatedStreams {
 public:
  explicit SimulatedStreams(std::vector<double> rates)
      : striping(rates.size()),
        rates_(std::move(rates)),
        handed(rates_.size()),
        burst_(rates_.size()),
        credit_(rates_.size()),
        backlog_(rates_.size()) {}

  void run(std::int64_t for_ns) {
    for (const std::int64_t end = now_ns_ + for_ns; now_ns_ < end; now_ns_ += kStepNs) {
      double under_way = 0;
      for (std::size_t i = 0; i < rates_.size(); ++i) {
        drain(i);
        under_way += backlog_[i];
        if (striping.is_worth_observing(i, now_ns_)) {
          striping.observe(i, now_ns_, handed[i], static_cast<std::uint64_t>(backlog_[i]));
        }
      }
      while (under_way < 4 << 20) {
        const auto choice = striping.choose(now_ns_, 256 * 1024);
        if (!choice || backlog_[choice->stream] > 1 << 20) break;  // as a blocked socket
        striping.handed(choice->stream, now_ns_, choice->limit_bytes);
        handed[choice->stream] += choice->limit_bytes;
        backlog_[choice->stream] += static_cast<double>(choice->limit_bytes);
        under_way += static_cast<double>(choice->limit_bytes);
      }
    }
  }
  void set_rate(std::size_t index, double rate) { rates_[index] = rate; }
  // As pacing does: that much passes at once, and is earned again at the stream's rate.
  void set_burst(std::size_t index, double bytes) { burst_[index] = credit_[index] = bytes; }

  Striping striping;

 private:
  static constexpr std::int64_t kStepNs = 50'000;
  std::vector<double> rates_;

 public:
  std::vector<std::uint64_t> handed;

 private:
  void drain(std::size_t i) {
    const double earned = rates_[i] * kStepNs / 1e9;
    const double passed = std::min(backlog_[i], earned + credit_[i]);
    backlog_[i] -= passed;
    credit_[i] = std::clamp(credit_[i] + earned - passed, 0.0, burst_[i]);
  }

  std::vector<double> burst_;
  std::vector<double> credit_;
  std::vector<double> backlog_;
  std::int64_t now_ns_ = kSecond;
};

TEST(Striping, EqualStreams_ShareTheLoad) {
  SimulatedStreams streams({500e6, 500e6, 500e6, 500e6});
  streams.run(2 * kSecond);
  for (const std::uint64_t handed : streams.handed) {
    EXPECT_NEAR(static_cast<double>(handed), 1e9, 0.15e9);
  }
}

TEST(Striping, OneStreamAtACrawl_GatesNothing) {
  SimulatedStreams streams({500e6, 500e6, 1e6, 500e6});
  streams.run(2 * kSecond);
  EXPECT_LT(streams.handed[2], 4'000'000u);
  for (const std::size_t i : {0, 1, 3}) EXPECT_GT(streams.handed[i], 800'000'000u);
}

TEST(Striping, PacedStreamWhoseBurstsPassAtOnce_NeverHoldsMuch) {
  SimulatedStreams streams({500e6, 256e3, 500e6, 500e6});
  streams.set_burst(1, 64 * 1024);
  streams.run(2 * kSecond);
  EXPECT_LT(streams.handed[1], 400'000u);
  for (const std::size_t i : {0, 2, 3}) EXPECT_GT(streams.handed[i], 800'000'000u);
}

TEST(Striping, NewStreams_AreNotGivenAWholeWindow) {
  Striping striping(4);
  std::size_t given = 0;
  while (const auto choice = striping.choose(kSecond, 256 * 1024)) {
    striping.handed(choice->stream, kSecond, choice->limit_bytes);
    given += choice->limit_bytes;
    ASSERT_LE(given, 4u * 24 * 1024);
  }
  EXPECT_GT(given, 0u);
}

TEST(Striping, StreamThatSlowsDownAndRecovers_IsUsedAgain) {
  SimulatedStreams streams({500e6, 500e6});
  streams.run(kSecond);
  streams.set_rate(0, 1e6);
  streams.run(3 * kSecond);
  const std::uint64_t slow_handed = streams.handed[0];
  streams.set_rate(0, 500e6);
  streams.run(20 * kSecond);
  EXPECT_GT(streams.handed[0] - slow_handed, 4'000'000'000u);
}

TEST(Striping, UnequalStreams_GetWhatTheyCarry) {
  SimulatedStreams streams({100e6, 400e6});
  streams.run(2 * kSecond);
  const double ratio =
      static_cast<double>(streams.handed[1]) / static_cast<double>(streams.handed[0]);
  EXPECT_GT(ratio, 2.5);
  EXPECT_LT(ratio, 6);
}

TEST(Striping, FewBytes_StayOnOneStream) {
  Striping striping(4);
  for (int i = 0; i < 10; ++i) {
    const auto choice = striping.choose(kSecond, 1000);
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->stream, 0u);
    striping.handed(choice->stream, kSecond, 1000);
  }
}

TEST(Striping, ControlFrames_TakeTheEmptiestStream) {
  Striping striping(3);
  striping.handed(0, kSecond, 1 << 20);
  striping.handed(1, kSecond, 2 << 20);
  EXPECT_EQ(striping.quickest(), 2u);
}

TEST(PathWatch, SilentKernelWithDataUnderWay_IsLostAfterTheTimeout) {
  PathWatch watch;
  PathFacts facts{true, true, 0, 0};
  for (std::int64_t second = 0; second < 10; ++second) {
    facts.since_last_ack_ns = second * kSecond;
    EXPECT_FALSE(watch.is_lost(facts, second * kSecond, 10 * kSecond));
  }
  facts.since_last_ack_ns = 10 * kSecond;
  EXPECT_TRUE(watch.is_lost(facts, 10 * kSecond, 10 * kSecond));
}

TEST(PathWatch, FirstLossAfterAnIdleHour_IsNotLost) {
  PathWatch watch;
  EXPECT_FALSE(watch.is_lost({true, true, 0, 3600 * kSecond}, 3600 * kSecond, 10 * kSecond));
}

TEST(PathWatch, ClosedWindowThatIsAnswered_IsNeverLost) {
  PathWatch watch;
  for (std::int64_t second = 0; second < 1000; ++second) {
    // The peer's kernel acknowledges each probe: the count starts again.
    EXPECT_FALSE(watch.is_lost({true, false, static_cast<int>(second % 2), second % 60 * kSecond},
                               second * kSecond, 10 * kSecond));
  }
}

TEST(PathWatch, LossyPathWithAcknowledgements_IsNeverLost) {
  PathWatch watch;
  for (std::int64_t second = 0; second < 100; ++second) {
    EXPECT_FALSE(watch.is_lost({true, true, 0, kSecond}, second * kSecond, 10 * kSecond));
  }
}

TEST(PathWatch, UnansweredProbes_AreLostAfterTheTimeout) {
  PathWatch watch;
  EXPECT_FALSE(watch.is_lost({false, false, 3, 20 * kSecond}, 0, 10 * kSecond));
  EXPECT_FALSE(watch.is_lost({false, false, 4, 29 * kSecond}, 9 * kSecond, 10 * kSecond));
  EXPECT_TRUE(watch.is_lost({false, false, 5, 30 * kSecond}, 10 * kSecond, 10 * kSecond));
}

TEST(Heartbeat, SilentPeer_IsPingedThenLost) {
  Heartbeat heartbeat(2 * kSecond, 10 * kSecond);
  heartbeat.heard(0);
  EXPECT_EQ(heartbeat.tick(kSecond), Heartbeat::Action::none);
  EXPECT_EQ(heartbeat.tick(2 * kSecond), Heartbeat::Action::send_ping);
  EXPECT_EQ(heartbeat.tick(3 * kSecond), Heartbeat::Action::none);
  EXPECT_EQ(heartbeat.tick(12 * kSecond), Heartbeat::Action::peer_lost);
}

TEST(Heartbeat, AnsweringPeer_IsNeverLost) {
  Heartbeat heartbeat(2 * kSecond, 10 * kSecond);
  heartbeat.heard(0);
  for (std::int64_t now = 0; now < 1000 * kSecond; now += kSecond) {
    const auto action = heartbeat.tick(now);
    EXPECT_NE(action, Heartbeat::Action::peer_lost);
    if (action == Heartbeat::Action::send_ping) heartbeat.heard(now + kMillisecond);
  }
}

TEST(Heartbeat, SwitchedOff_DoesNothing) {
  Heartbeat heartbeat(0, 10 * kSecond);
  EXPECT_EQ(heartbeat.tick(1000 * kSecond), Heartbeat::Action::none);
}

NicInfo nic_of(int speed_mbps) {
  NicInfo nic;
  nic.speed_mbps = speed_mbps;
  nic.speed_known = true;
  return nic;
}

TEST(StreamCount, FollowsSpeedAndConfiguration) {
  Config config;
  EXPECT_EQ(stream_count(config, nic_of(1'000), false), 1);
  EXPECT_EQ(stream_count(config, nic_of(10'000), false), 1);
  EXPECT_EQ(stream_count(config, nic_of(25'000), false), 4);
  EXPECT_EQ(stream_count(config, nic_of(50'000), false), 4);
  EXPECT_EQ(stream_count(config, nic_of(100'000), false), 8);
  EXPECT_EQ(stream_count(config, nic_of(100'000), true), 1);
  EXPECT_EQ(stream_count(config, NicInfo{}, false), 4) << "a speed that nobody knows";
  config.tcp_streams = 3;
  EXPECT_EQ(stream_count(config, nic_of(100'000), true), 3);
}

}  // namespace
}  // namespace thinwire::transports::tcp
