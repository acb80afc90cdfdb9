// Messages as every transport must carry them: sizes, orders, tags and groups.
#include <random>

#include "tests/transports/contract.h"

namespace thinwire::transports::contract {
namespace {

using Messages = Contract;

TEST_P(Messages, SingleMessage_OfManySizes_ArrivesIntact) {
  Link link = connect_link();
  const auto window = static_cast<std::size_t>(GetParam().config.tcp_window_bytes);
  const auto chunk = static_cast<std::size_t>(GetParam().config.tcp_chunk_bytes);
  std::uint64_t tag = 0;
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{64},
        std::size_t{4095}, std::size_t{65537}, chunk - 1, chunk, chunk + 1, 3 * chunk + 13,
        window - 1, window + 1, 3 * window + 5}) {
    exchange(link.from, link.to, count, ++tag, true);
    exchange(link.to, link.from, count, ++tag, true);
  }
}

TEST_P(Messages, Receive_PostedAfterTheSend_StillArrives) {
  Link link = connect_link();
  std::uint64_t tag = 0;
  const auto window = static_cast<std::size_t>(GetParam().config.tcp_window_bytes);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{4096},
                                  std::size_t{100000}, window / 2, 2 * window + 3}) {
    exchange(link.from, link.to, count, ++tag, false);
  }
}

TEST_P(Messages, BothDirections_AtOnce_ArriveIntact) {
  Link link = connect_link();
  const Bytes to_right = pattern(700001, 1);
  const Bytes to_left = pattern(654321, 2);
  Bytes at_right(to_right.size());
  Bytes at_left(to_left.size());
  const auto a = receive(link.to, at_right, 5);
  const auto b = receive(link.from, at_left, 5);
  send(link.from, to_right, 5);
  send(link.to, to_left, 5);
  ASSERT_TRUE(wait_done(a) && wait_done(b));
  EXPECT_TRUE(at_right == to_right);
  EXPECT_TRUE(at_left == to_left);
}

TEST_P(Messages, SameTag_ManyMessages_MatchInOrder) {
  Link link = connect_link();
  constexpr std::size_t kCount = 100;
  std::vector<Bytes> sent, got;
  std::vector<std::uint64_t> cookies;
  for (std::size_t i = 0; i < kCount; ++i) {
    sent.push_back(pattern(1 + i * 97 % 3000, i));
    got.emplace_back(3000);
  }
  // Half of the receives are there before their message, half come after it.
  for (std::size_t i = 0; i < kCount / 2; ++i) cookies.push_back(receive(link.to, got[i], 9));
  for (const Bytes& message : sent) send(link.from, message, 9);
  for (std::size_t i = kCount / 2; i < kCount; ++i) cookies.push_back(receive(link.to, got[i], 9));
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(wait_done(cookies[i]));
    const Completion& done = completion(cookies[i]);
    ASSERT_EQ(done.bytes[0], sent[i].size());
    EXPECT_TRUE(std::equal(sent[i].begin(), sent[i].end(), got[i].begin())) << "message " << i;
  }
}

TEST_P(Messages, Tags_OutOfOrder_OvertakeOneAnother) {
  Link link = connect_link();
  std::vector<Bytes> sent, got;
  std::vector<std::uint64_t> cookies(8);
  for (std::uint64_t tag = 0; tag < 8; ++tag) {
    sent.push_back(pattern(5000 + tag, tag));
    got.emplace_back(sent.back().size());
    send(link.from, sent.back(), tag << 40);
  }
  for (std::uint64_t tag = 8; tag-- > 0;) {
    cookies[tag] = receive(link.to, got[tag], tag << 40);
    ASSERT_TRUE(wait_done(cookies[tag]));
    EXPECT_TRUE(got[tag] == sent[tag]) << "tag " << tag;
  }
}

TEST_P(Messages, GroupedReceive_OfEverySize_CompletesOnceInPostedOrder) {
  Link link = connect_link();
  for (std::size_t size = 1; size <= kMaxGroupedReceives; ++size) {
    std::vector<Bytes> sent, got;
    std::vector<ReceiveBuffer> buffers;
    for (std::size_t i = 0; i < size; ++i) {
      sent.push_back(pattern(i == 3 ? 0 : 2000 * size + i, size * 10 + i));
      got.emplace_back(2000 * size + 100);
    }
    for (std::size_t i = 0; i < size; ++i) {
      buffers.push_back({got[i].data(), got[i].size(), 100 + i, {}});
    }
    // The last message goes first; half of the groups are posted before anything was sent.
    std::uint64_t cookie = 0;
    if (size % 2 == 0) cookie = receive_group(link.to, buffers);
    for (std::size_t i = size; i-- > 0;) send(link.from, sent[i], 100 + i);
    if (size % 2 != 0) cookie = receive_group(link.to, buffers);
    ASSERT_TRUE(wait_done(cookie));
    const Completion& done = completion(cookie);
    ASSERT_TRUE(done.status.ok());
    ASSERT_EQ(done.count, static_cast<int>(size));
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(done.bytes[i], sent[i].size());
      EXPECT_TRUE(std::equal(sent[i].begin(), sent[i].end(), got[i].begin()));
    }
  }
}

TEST_P(Messages, GroupedReceive_OneTagTwice_TakesMessagesInOrder) {
  Link link = connect_link();
  Bytes first(16), second(16), third(16);
  const ReceiveBuffer buffers[] = {
      {first.data(), 16, 3, {}}, {second.data(), 16, 4, {}}, {third.data(), 16, 3, {}}};
  const auto cookie = receive_group(link.to, buffers);
  const Bytes a = pattern(16, 1), b = pattern(16, 2), c = pattern(16, 3);
  send(link.from, a, 3);
  send(link.from, b, 3);
  send(link.from, c, 4);
  ASSERT_TRUE(wait_done(cookie));
  EXPECT_TRUE(first == a);
  EXPECT_TRUE(third == b);
  EXPECT_TRUE(second == c);
}

TEST_P(Messages, GroupedReceive_WithAMissingMessage_WaitsForIt) {
  Link link = connect_link();
  Bytes first(16), second(16);
  const ReceiveBuffer buffers[] = {{first.data(), 16, 1, {}}, {second.data(), 16, 2, {}}};
  const auto cookie = receive_group(link.to, buffers);
  const Bytes data = pattern(16, 1);
  ASSERT_TRUE(wait_done(send(link.from, data, 2)));
  for (int i = 0; i < 200; ++i) poll_once();
  EXPECT_FALSE(is_done(cookie));
  send(link.from, data, 1);
  EXPECT_TRUE(wait_done(cookie));
}

TEST_P(Messages, ShorterThanItsBuffer_LeavesTheRestAlone) {
  Link link = connect_link();
  Bytes got(1000, std::byte{0xEE});
  const auto cookie = receive(link.to, got, 1);
  const Bytes sent = pattern(333, 1);
  send(link.from, sent, 1);
  ASSERT_TRUE(wait_done(cookie));
  EXPECT_EQ(completion(cookie).bytes[0], 333u);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), got.begin()));
  for (std::size_t i = 333; i < got.size(); ++i) ASSERT_EQ(got[i], std::byte{0xEE});
}

TEST_P(Messages, HundredPosts_OutstandingBothWays_AllComplete) {
  Link link = connect_link();
  constexpr std::size_t kCount = 100;
  std::vector<Bytes> sent, got(2 * kCount);
  std::vector<std::uint64_t> cookies;
  for (std::size_t i = 0; i < 2 * kCount; ++i) {
    sent.push_back(pattern(1000 + 31 * i, i));
    got[i].resize(sent[i].size());
    cookies.push_back(receive(i % 2 ? link.to : link.from, got[i], i));
  }
  for (std::size_t i = 2 * kCount; i-- > 0;) {
    cookies.push_back(send(i % 2 ? link.from : link.to, sent[i], i));
  }
  for (const std::uint64_t cookie : cookies) ASSERT_TRUE(wait_done(cookie));
  for (std::size_t i = 0; i < 2 * kCount; ++i) EXPECT_TRUE(got[i] == sent[i]) << i;
}

TEST_P(Messages, Counters_AfterMessages_CountThem) {
  Link link = connect_link();
  const Counters before = left_->counters();
  exchange(link.from, link.to, 1000, 1, true);
  exchange(link.from, link.to, 0, 2, true);
  const Counters after = left_->counters();
  EXPECT_EQ(after.payload_sent - before.payload_sent, 1000u);
  EXPECT_EQ(after.messages_sent - before.messages_sent, 2u);
  EXPECT_GE(after.bytes_sent - before.bytes_sent, 1000u);
}

// Random sizes, tags, groups and moments; the whole history is checked against a model in which
// messages of one tag match receives of that tag in order.
TEST_P(Messages, RandomTraffic_BothWays_MatchesTheModel) {
  Link link = connect_link();
  std::mt19937_64 random(20240817);
  struct Pending {
    std::uint64_t cookie = 0;
    std::vector<std::size_t> messages;  // indices into `sent`
    std::vector<Bytes> buffers;
  };
  std::vector<Bytes> sent;
  std::vector<std::uint64_t> send_cookies;
  std::vector<std::unique_ptr<Pending>> receives;
  for (int round = 0; round < 60; ++round) {
    const bool rightward = random() % 2 == 0;
    Side& sender = rightward ? link.from : link.to;
    Side& receiver = rightward ? link.to : link.from;
    const std::size_t group = 1 + random() % kMaxGroupedReceives;
    auto pending = std::make_unique<Pending>();
    std::vector<ReceiveBuffer> buffers;
    std::vector<std::uint64_t> tags;
    for (std::size_t i = 0; i < group; ++i) {
      const std::size_t bytes = random() % 5 == 0 ? random() % 60000 : random() % 600;
      pending->messages.push_back(sent.size());
      sent.push_back(pattern(bytes, random()));
      pending->buffers.emplace_back(bytes + random() % 50);
      tags.push_back(random() % 3);
      buffers.push_back({pending->buffers[i].data(), pending->buffers[i].size(), tags[i], {}});
    }
    const bool receive_first = random() % 2 == 0;
    if (receive_first) pending->cookie = receive_group(receiver, buffers);
    for (std::size_t i = 0; i < group; ++i) {
      send_cookies.push_back(send(sender, sent[pending->messages[i]], tags[i]));
      if (random() % 4 == 0) poll_once();
    }
    if (!receive_first) pending->cookie = receive_group(receiver, buffers);
    receives.push_back(std::move(pending));
  }
  for (const std::uint64_t cookie : send_cookies) ASSERT_TRUE(wait_done(cookie));
  for (const auto& pending : receives) {
    ASSERT_TRUE(wait_done(pending->cookie));
    const Completion& done = completion(pending->cookie);
    for (std::size_t i = 0; i < pending->messages.size(); ++i) {
      const Bytes& expected = sent[pending->messages[i]];
      ASSERT_EQ(done.bytes[i], expected.size());
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), pending->buffers[i].begin()));
    }
  }
}

// Devices that flush GPU memory flush the host's too.
TEST_P(Messages, Flush_CompletesOrSaysThatThereIsNone) {
  Link link = connect_link();
  Bytes buffer(4096);
  constexpr std::uint64_t kCookie = std::uint64_t{1} << 40;
  const auto key =
      link.to.endpoint->register_memory(buffer.data(), buffer.size(), MemoryKind::host);
  ASSERT_TRUE(key.ok());
  const Status posted = link.to.connection->post_flush(buffer.data(), key.value(), kCookie);
  if (posted.ok()) {
    EXPECT_TRUE(wait_done(kCookie));
  } else {
    EXPECT_EQ(posted.code(), Code::invalid_argument);
  }
  EXPECT_TRUE(link.to.endpoint->deregister_memory(key.value()).ok());
}

INSTANTIATE_TEST_SUITE_P(Transport, Messages, ::testing::ValuesIn(cases()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Messages);

}  // namespace
}  // namespace thinwire::transports::contract
