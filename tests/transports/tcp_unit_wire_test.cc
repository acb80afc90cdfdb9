// The byte formats: what is written is read again, what is damaged is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string_view>

#include "base/host_identity.h"
#include "transports/tcp/crc32c.h"
#include "transports/tcp/frame.h"
#include "transports/tcp/handle.h"
#include "transports/tcp/introduction.h"

namespace thinwire::transports::tcp {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Crc32c, KnownVectors_GiveTheirChecksums) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c_portable(bytes_of("123456789")), 0xE3069283u);
  const std::array<std::byte, 32> zeros{};  // RFC 3720, B.4
  EXPECT_EQ(crc32c(zeros), 0x8A9136AAu);
}

TEST(Crc32c, BothForms_OnAnyLengthAndAlignment_Agree) {
  std::mt19937 random(7);
  std::array<std::byte, 300> data;
  for (std::byte& each : data) each = static_cast<std::byte>(random());
  for (std::size_t offset = 0; offset < 9; ++offset) {
    for (std::size_t count = 0; count < 100; ++count) {
      const auto part = std::span(data).subspan(offset, count);
      EXPECT_EQ(crc32c(part), crc32c_portable(part));
      EXPECT_EQ(crc32c(part.subspan(count / 2), crc32c(part.first(count / 2))), crc32c(part));
    }
  }
}

FrameHeader sample_frame() {
  return {FrameType::chunk, true, 1000, 1ull << 40, 0xFEDCBA9876543210u, 5000, 4000, 77};
}

TEST(Frame, RoundTrip_KeepsEveryField) {
  FrameBytes bytes;
  encode_frame(sample_frame(), bytes);
  const auto read = decode_frame(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->type, FrameType::chunk);
  EXPECT_TRUE(read->has_payload_crc);
  EXPECT_EQ(read->chunk_bytes, 1000u);
  EXPECT_EQ(read->sequence, 1ull << 40);
  EXPECT_EQ(read->tag, 0xFEDCBA9876543210u);
  EXPECT_EQ(read->total_bytes, 5000u);
  EXPECT_EQ(read->offset, 4000u);
  EXPECT_EQ(read->payload_crc, 77u);
}

TEST(Frame, AnyBitFlipped_IsRefused) {
  FrameBytes bytes;
  encode_frame(sample_frame(), bytes);
  for (std::size_t bit = 0; bit < 8 * kFrameHeaderBytes; ++bit) {
    FrameBytes damaged = bytes;
    damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(decode_frame(damaged).has_value()) << "bit " << bit;
  }
}

TEST(Frame, InconsistentRanges_AreRefused) {
  const auto refused = [](void (*change)(FrameHeader&)) {
    FrameHeader header = sample_frame();
    change(header);
    FrameBytes bytes;
    encode_frame(header, bytes);
    return !decode_frame(bytes).has_value();
  };
  EXPECT_FALSE(refused([](FrameHeader&) {}));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.offset = 4001; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.offset = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.total_bytes = 10; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.chunk_bytes = 0; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.type = FrameType::ping; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.type = static_cast<FrameType>(9); }));
}

HandleInfo sample_handle() {
  HandleInfo info;
  info.host_hash = 42;
  info.host_name = "node-with-a-name";
  info.address.family = SocketAddress::Family::ipv6;
  info.address.port = 4711;
  info.address.scope_id = 3;
  info.address.bytes.fill(std::byte{0xFE});
  info.token = random_token();
  return info;
}

TEST(Handle, RoundTrip_KeepsEveryField) {
  const HandleInfo info = sample_handle();
  const auto read = decode_handle(encode_handle(info));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().host_hash, info.host_hash);
  EXPECT_EQ(read.value().host_name, info.host_name);
  EXPECT_TRUE(read.value().address.same_host_as(info.address));
  EXPECT_EQ(read.value().address.port, info.address.port);
  EXPECT_EQ(read.value().token, info.token);
}

TEST(Handle, LongHostName_IsCut) {
  HandleInfo info = sample_handle();
  info.host_name = std::string(200, 'x');
  const auto read = decode_handle(encode_handle(info));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().host_name, std::string(kMaxHostNameBytes, 'x'));
}

TEST(Handle, Damaged_IsInvalidArgument_OtherVersion_IsPeerLost) {
  Handle handle = encode_handle(sample_handle());
  handle.bytes[50] ^= std::byte{1};
  EXPECT_EQ(decode_handle(handle).status().code(), Code::invalid_argument);
  handle = encode_handle(sample_handle());
  handle.bytes[4] = std::byte{99};
  EXPECT_EQ(decode_handle(handle).status().code(), Code::peer_lost);
  EXPECT_EQ(decode_handle(handle).status().native(), 99);
  handle.bytes[0] ^= std::byte{1};
  EXPECT_EQ(decode_handle(handle).status().code(), Code::invalid_argument);
}

TEST(Handle, Tokens_AreDifferent) { EXPECT_NE(random_token(), random_token()); }

TEST(HostIdentity, HostId_ReplacesWhatTheMachineSays) {
  EXPECT_EQ(host_identity("").hash, host_identity("").hash);
  EXPECT_EQ(host_identity("a").hash, host_identity("a").hash);
  EXPECT_NE(host_identity("a").hash, host_identity("b").hash);
  EXPECT_NE(host_identity("a").hash, host_identity("").hash);
}

Introduction sample_introduction() {
  Introduction introduction;
  introduction.token = random_token();
  introduction.connection = random_token();
  introduction.stream = 2;
  introduction.stream_count = 5;
  introduction.window_bytes = 1 << 22;
  introduction.host_name = "left";
  introduction.hello_bytes = 3;
  introduction.hello[2] = std::byte{9};
  return introduction;
}

TEST(Introduction, RoundTrip_KeepsEveryField) {
  const Introduction sent = sample_introduction();
  std::array<std::byte, kIntroductionBytes> bytes;
  encode_introduction(sent, bytes);
  const auto read = decode_introduction(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().token, sent.token);
  EXPECT_EQ(read.value().connection, sent.connection);
  EXPECT_EQ(read.value().stream, 2);
  EXPECT_EQ(read.value().stream_count, 5);
  EXPECT_EQ(read.value().window_bytes, sent.window_bytes);
  EXPECT_EQ(read.value().host_name, "left");
  EXPECT_EQ(read.value().hello_bytes, 3);
  EXPECT_EQ(read.value().hello, sent.hello);
}

TEST(Introduction, Prefix_TellsVersionsApart) {
  std::array<std::byte, kIntroductionBytes> bytes;
  encode_introduction(sample_introduction(), bytes);
  const auto prefix = [&] { return introduction_prefix(std::span(bytes).first<6>()); };
  EXPECT_EQ(prefix(), Prefix::ours);
  bytes[4] = std::byte{77};
  EXPECT_EQ(prefix(), Prefix::other_version);
  bytes[0] = std::byte{'G'};
  EXPECT_EQ(prefix(), Prefix::foreign);
}

TEST(Introduction, ImpossibleStreams_AreRefused) {
  std::array<std::byte, kIntroductionBytes> bytes;
  Introduction introduction = sample_introduction();
  introduction.stream = introduction.stream_count;
  encode_introduction(introduction, bytes);
  EXPECT_EQ(decode_introduction(bytes).status().code(), Code::invalid_argument);
  introduction = sample_introduction();
  introduction.stream_count = kMaxStreams + 1;
  encode_introduction(introduction, bytes);
  EXPECT_EQ(decode_introduction(bytes).status().code(), Code::invalid_argument);
}

TEST(Reply, Refusals_SayWhy) {
  std::array<std::byte, kReplyBytes> bytes;
  Reply reply;
  reply.window_bytes = 5;
  encode_reply(reply, bytes);
  ASSERT_TRUE(decode_reply(bytes).ok());
  EXPECT_EQ(decode_reply(bytes).value().window_bytes, 5u);
  reply.answer = Answer::wrong_token;
  encode_reply(reply, bytes);
  EXPECT_EQ(decode_reply(bytes).status().code(), Code::peer_lost);
  reply.version = 9;
  encode_reply(reply, bytes);
  EXPECT_EQ(decode_reply(bytes).status().native(), 9);
  bytes[0] ^= std::byte{1};
  EXPECT_EQ(decode_reply(bytes).status().code(), Code::peer_lost);
}

}  // namespace
}  // namespace thinwire::transports::tcp
