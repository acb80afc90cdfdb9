// The two halves of a connection without sockets: windows, matching, order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "transports/tcp/receiver.h"
#include "transports/tcp/sender.h"

namespace thinwire::transports::tcp {
namespace {

FrameHeader header_of(const OutFrame& frame) { return *decode_frame(frame.header); }

FrameHeader whole(std::uint64_t sequence, std::uint64_t tag, std::uint32_t bytes) {
  FrameHeader header;
  header.sequence = sequence;
  header.tag = tag;
  header.chunk_bytes = bytes;
  header.total_bytes = bytes;
  return header;
}

class ReceiverTest : public ::testing::Test {
 protected:
  // Delivers a chunk whose payload repeats `fill`.
  void deliver(const FrameHeader& header, char fill) {
    Result<Landing> landing = receiver_.chunk_begins(header);
    ASSERT_TRUE(landing.ok()) << landing.status().text();
    if (header.chunk_bytes > 0) std::memset(landing.value().at, fill, header.chunk_bytes);
    receiver_.chunk_ended(header, landing.value());
  }
  void post(char* data, std::size_t bytes, std::uint64_t tag, std::uint64_t cookie) {
    const ReceiveBuffer buffer{data, bytes, tag, {}};
    ASSERT_TRUE(receiver_.post({&buffer, 1}, cookie).ok());
  }
  std::vector<std::uint64_t> finished() {
    std::vector<std::uint64_t> cookies;
    Completion one;
    while (completions_.drain({&one, 1}) == 1) cookies.push_back(one.cookie);
    return cookies;
  }

  static constexpr std::uint64_t kWindow = 4096;
  Completions completions_;
  Receiver receiver_{kWindow, completions_};
  char a_[256] = {}, b_[256] = {};
};

using Cookies = std::vector<std::uint64_t>;

TEST_F(ReceiverTest, MessageAheadOfItsPredecessor_WaitsForItsTurn) {
  post(a_, 100, 7, 1);
  post(b_, 100, 7, 2);
  deliver(whole(1, 7, 100), 'y');  // overtook message 0 on another stream
  EXPECT_EQ(finished(), Cookies{});
  deliver(whole(0, 7, 100), 'x');
  Cookies both = finished();
  std::ranges::sort(both);  // which of them completes first is open
  EXPECT_EQ(both, (Cookies{1, 2}));
  EXPECT_EQ(a_[99], 'x');
  EXPECT_EQ(b_[99], 'y');
}

TEST_F(ReceiverTest, ChunksInAnyOrder_LandAtTheirOffsets) {
  post(a_, 256, 7, 1);
  for (const std::uint64_t offset : {200u, 0u, 100u}) {
    FrameHeader chunk = whole(0, 7, 100);
    chunk.total_bytes = 250;
    chunk.offset = offset;
    if (offset == 200) chunk.chunk_bytes = 50;
    deliver(chunk, static_cast<char>('a' + offset / 100));
  }
  EXPECT_EQ(finished(), Cookies{1});
  EXPECT_EQ(a_[0], 'a');
  EXPECT_EQ(a_[100], 'b');
  EXPECT_EQ(a_[249], 'c');
  EXPECT_EQ(a_[250], 0);
}

TEST_F(ReceiverTest, PostedWhileItsChunkIsBeingRead_GetsTheWholeChunk) {
  const FrameHeader header = whole(0, 7, 64);
  Result<Landing> landing = receiver_.chunk_begins(header);
  ASSERT_TRUE(landing.ok());
  post(a_, 64, 7, 1);
  EXPECT_EQ(finished(), Cookies{});
  std::memset(landing.value().at, 'z', 64);
  receiver_.chunk_ended(header, landing.value());
  EXPECT_EQ(finished(), Cookies{1});
  EXPECT_EQ(a_[63], 'z');
}

TEST_F(ReceiverTest, EmptyMessages_MatchLikeOthers) {
  deliver(whole(0, 7, 0), ' ');
  EXPECT_EQ(receiver_.taken(), 0u);
  post(a_, 10, 7, 1);
  post(a_, 10, 8, 2);
  deliver(whole(1, 8, 0), ' ');
  EXPECT_EQ(finished(), (Cookies{1, 2}));
  EXPECT_EQ(receiver_.taken(), 2 * kFrameHeaderBytes);
}

TEST_F(ReceiverTest, Tags_LeaveNothingBehind) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if (i % 2 == 0) post(a_, 10, i, i);
    deliver(whole(i, i, 10), 'x');
    if (i % 2 == 1) post(a_, 10, i, i);
  }
  EXPECT_EQ(receiver_.waiting_tags(), 0u);
  EXPECT_EQ(finished().size(), 1000u);
}

TEST_F(ReceiverTest, UnmatchedBytes_AreNotTakenUntilMatched) {
  deliver(whole(0, 7, 100), 'x');
  EXPECT_EQ(receiver_.taken(), 0u);
  EXPECT_EQ(receiver_.unexpected_bytes(), 100u);
  post(a_, 100, 7, 1);
  EXPECT_EQ(receiver_.taken(), 100 + kFrameHeaderBytes);
}

TEST_F(ReceiverTest, MoreThanTheWindow_IsAProtocolViolation) {
  deliver(whole(0, 7, kWindow - kFrameHeaderBytes), 'x');
  EXPECT_EQ(receiver_.chunk_begins(whole(1, 7, 0)).status().code(), Code::peer_lost);
}

TEST_F(ReceiverTest, ContradictingOrRepeatedChunks_AreProtocolViolations) {
  FrameHeader first = whole(0, 7, 10);
  first.total_bytes = 20;
  deliver(first, 'x');
  FrameHeader other = first;
  other.total_bytes = 30;
  other.offset = 10;
  EXPECT_EQ(receiver_.chunk_begins(other).status().code(), Code::peer_lost);
  post(a_, 10, 8, 1);
  deliver(whole(1, 8, 10), 'y');
  EXPECT_EQ(receiver_.chunk_begins(whole(1, 8, 10)).status().code(), Code::peer_lost);
}

TEST_F(ReceiverTest, TooLongMessage_SaysByHowMuch) {
  post(a_, 10, 7, 1);
  EXPECT_EQ(receiver_.chunk_begins(whole(0, 7, 11)).status().code(), Code::invalid_argument);
  EXPECT_EQ(receiver_.oversize().message_bytes, 11u);
  EXPECT_EQ(receiver_.oversize().buffer_bytes, 10u);
}

TEST_F(ReceiverTest, Fail_CompletesAllInPostedOrder) {
  for (std::uint64_t i = 0; i < 5; ++i) post(a_, 10, 7, 10 + i);
  deliver(whole(0, 7, 5), 'x');
  post(a_, 10, 7, 15);  // takes the memory of the first
  EXPECT_EQ(finished(), Cookies{10});
  receiver_.fail({Code::peer_lost, "gone"});
  EXPECT_EQ(finished(), (Cookies{11, 12, 13, 14, 15}));
}

TEST(SenderTest, Message_IsCutIntoChunksWithinTheWindow) {
  Completions completions;
  Sender sender(1000, false, completions);
  std::vector<char> data(10000);
  sender.post(data.data(), data.size(), 3, 1);
  EXPECT_FALSE(sender.has_chunk());  // no window yet
  sender.set_window(8000);
  std::vector<OutFrame> frames;
  std::uint64_t cost = 0;
  while (sender.has_chunk()) {
    frames.push_back(sender.next_chunk(0));
    cost += frames.back().payload_bytes + kFrameHeaderBytes;
  }
  EXPECT_LE(cost, 8000u);
  EXPECT_EQ(frames.size(), 7u);
  EXPECT_EQ(header_of(frames[6]).offset, 6000u);
  ASSERT_TRUE(sender.granted(cost).ok());
  while (sender.has_chunk()) frames.push_back(sender.next_chunk(100));
  EXPECT_EQ(header_of(frames.back()).offset + frames.back().payload_bytes, 10000u);
  for (const OutFrame& frame : frames) sender.chunk_sent(frame.message);
  Completion done;
  ASSERT_EQ(completions.drain({&done, 1}), 1u);
  EXPECT_EQ(done.bytes[0], 10000u);
  EXPECT_TRUE(sender.idle());
}

TEST(SenderTest, Chunks_NeverExceedAQuarterWindow) {
  Completions completions;
  Sender sender(1 << 20, false, completions);
  sender.set_window(4096);
  std::vector<char> data(5000);
  sender.post(data.data(), data.size(), 3, 1);
  ASSERT_TRUE(sender.has_chunk());
  EXPECT_LE(sender.next_chunk(0).payload_bytes + kFrameHeaderBytes, 1024u);
}

TEST(SenderTest, Grants_ThatOvertakeOrExceed_AreHandled) {
  Completions completions;
  Sender sender(1000, false, completions);
  sender.set_window(8192);
  std::vector<char> data(1000);
  sender.post(data.data(), data.size(), 3, 1);
  static_cast<void>(sender.next_chunk(0));
  EXPECT_TRUE(sender.granted(500).ok());
  EXPECT_TRUE(sender.granted(200).ok());  // an older one on a slower stream
  EXPECT_EQ(sender.outstanding(), 548u);
  EXPECT_EQ(sender.granted(5000).code(), Code::peer_lost);
}

TEST(SenderTest, Fail_CompletesAllInPostedOrder) {
  Completions completions;
  Sender sender(1000, false, completions);
  for (std::uint64_t i = 0; i < 5; ++i) sender.post(nullptr, 0, 3, i);
  sender.fail({Code::peer_lost, "gone"});
  Completion done[8];
  ASSERT_EQ(completions.drain(done), 5u);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(done[i].cookie, i);
  EXPECT_TRUE(sender.idle());
  EXPECT_FALSE(sender.has_chunk());
}

}  // namespace
}  // namespace thinwire::transports::tcp
