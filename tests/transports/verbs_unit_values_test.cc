// The verbs transport's pure parts: choices, words, and what is packed into numbers.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>

#include "transports/verbs/control_message.h"
#include "transports/verbs/gid.h"
#include "transports/verbs/message.h"
#include "transports/verbs/pairs.h"
#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {
namespace {

ibv_gid_entry entry(std::uint32_t index, const char* address, std::uint32_t type,
                    std::uint32_t port = 1) {
  ibv_gid_entry made{};
  ::inet_pton(AF_INET6, address, made.gid.raw);
  made.gid_index = index;
  made.gid_type = type;
  made.port_num = port;
  return made;
}

constexpr auto kV1 = IBV_GID_TYPE_ROCE_V1;
constexpr auto kV2 = IBV_GID_TYPE_ROCE_V2;

TEST(ChooseGid, OfSeveralTypes_TakesRoutedRoceV2WithIpv4) {
  const std::vector table{entry(0, "fe80::1", kV1),         entry(1, "fe80::1", kV2),
                          entry(2, "::ffff:10.0.0.1", kV1), entry(3, "2001:db8::1", kV2),
                          entry(4, "::ffff:10.0.0.1", kV2), entry(5, "::ffff:10.0.0.9", kV2)};
  const auto chosen = choose_gid(table, 1, -1);
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen.value().index, 4);
  EXPECT_EQ(chosen.value().reason, "GID 4, 10.0.0.1, RoCEv2, IPv4");
}

TEST(ChooseGid, WithoutIpv4_PrefersRoutedIpv6OverLinkLocal) {
  const std::vector table{entry(0, "fe80::1", kV2), entry(1, "2001:db8::1", kV2)};
  EXPECT_EQ(choose_gid(table, 1, -1).value().index, 1);
  EXPECT_EQ(choose_gid(std::span(table).first(1), 1, -1).value().index, 0);
}

TEST(ChooseGid, OfAnotherPortOrEmpty_IsNone) {
  const std::vector table{entry(0, "::ffff:10.0.0.1", kV2, 2), entry(1, "::", kV2)};
  EXPECT_EQ(choose_gid(table, 1, -1).status().code(), Code::system_error);
}

TEST(ChooseGid, Wanted_IsThatOrAnError) {
  const std::vector table{entry(0, "fe80::1", kV2), entry(1, "::ffff:10.0.0.1", kV2)};
  EXPECT_EQ(choose_gid(table, 1, 0).value().index, 0);
  EXPECT_EQ(choose_gid(table, 1, 7).status().code(), Code::invalid_config);
}

TEST(Words, OfEveryCode_SaySomething) {
  EXPECT_NE(std::strstr(words_of(IBV_WC_RETRY_EXC_ERR), "unreachable"), nullptr);
  EXPECT_NE(std::strstr(words_of(IBV_EVENT_PORT_ERR), "down"), nullptr);
  EXPECT_STREQ(words_of(static_cast<ibv_wc_status>(99)), "unknown to this version");
  EXPECT_STREQ(words_of(static_cast<ibv_event_type>(-1)), "unknown to this version");
  EXPECT_EQ(speed_mbps(32, 2), 100000);
  EXPECT_EQ(speed_mbps(128, 2), 400000);
  EXPECT_EQ(speed_mbps(0, 2), 0);
}

TEST(WorkName, EveryField_ComesBack) {
  const WorkName name{0x7abc, true, 0xfedc, 0xdeadbeef};
  const WorkName back = WorkName::unpack(name.pack());
  EXPECT_EQ(back.path, name.path);
  EXPECT_EQ(back.receive, name.receive);
  EXPECT_EQ(back.epoch, name.epoch);
  EXPECT_EQ(back.number, name.number);
}

TEST(Immediate, EveryField_ComesBack) {
  const Immediate back = Immediate::unpack(Immediate{0xabcd, 0xef, 15, 16}.pack());
  EXPECT_EQ(back.number, 0xabcd);
  EXPECT_EQ(back.generation, 0xef);
  EXPECT_EQ(back.part, 15);
  EXPECT_EQ(back.parts, 16);
}

TEST(VerbsControlMessage, EveryField_ComesBack) {
  ControlMessage message;
  message.kind = ControlKind::introduction;
  message.path = 1;
  message.epoch = 2;
  message.hello_bytes = 3;
  message.slots = 4;
  message.slot_bytes = 5;
  message.window_bytes = 6;
  message.code = 7;
  message.message_bytes = 8;
  message.buffer_bytes = 9;
  message.received = 10;
  message.pair = 14;
  message.ports = 15;
  message.members = 16;
  message.data_paths = 17;
  message.addresses.resize(3);
  message.addresses[2].queue_pair = 11;
  message.addresses[2].gid[15] = 12;
  message.blob.assign(3, std::byte{13});
  const auto back = from_frame(to_frame(message));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value().path, 1);
  EXPECT_EQ(back.value().pair, 14);
  EXPECT_EQ(back.value().ports, 15);
  EXPECT_EQ(back.value().members, 16);
  EXPECT_EQ(back.value().data_paths, 17);
  EXPECT_EQ(back.value().epoch, 2);
  EXPECT_EQ(back.value().slots, 4u);
  EXPECT_EQ(back.value().slot_bytes, 5u);
  EXPECT_EQ(back.value().window_bytes, 6u);
  EXPECT_EQ(back.value().code, 7u);
  EXPECT_EQ(back.value().message_bytes, 8u);
  EXPECT_EQ(back.value().buffer_bytes, 9u);
  EXPECT_EQ(back.value().received, 10u);
  ASSERT_EQ(back.value().addresses.size(), 3u);
  EXPECT_EQ(back.value().addresses[2].queue_pair, 11u);
  EXPECT_EQ(back.value().addresses[2].gid[15], 12);
  EXPECT_EQ(back.value().blob, message.blob);
}

TEST(Pairs, OfUnequalSides_UseEveryMemberOfBoth) {
  const Pairs pairs(2, 3);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs.at(2).here, 0);
  EXPECT_EQ(pairs.at(2).there, 2);
  EXPECT_EQ(pairs.home(0).number, 0);
  EXPECT_EQ(pairs.home(1).number, 0);
  EXPECT_EQ(pairs.home(5).number, 1);
}

TEST(Pairs, Choose_PrefersHome_ThenWhatDidNotFailLately) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Pairs pairs(3, 3);
  EXPECT_EQ(pairs.choose(2)->number, 1);
  pairs.failed(pairs.at(1), 10 * kSecond);
  EXPECT_EQ(pairs.choose(2)->number, 2);
  EXPECT_FALSE(pairs.may_retry(pairs.at(1), 10 * kSecond + 1));
  EXPECT_TRUE(pairs.may_retry(pairs.at(1), 11 * kSecond));
  pairs.failed(pairs.at(2), 11 * kSecond);
  pairs.failed(pairs.at(0), 12 * kSecond);
  EXPECT_EQ(pairs.choose(2)->number, 1);
  // The second time in a row it has to wait for longer.
  pairs.failed(pairs.at(1), 13 * kSecond);
  EXPECT_FALSE(pairs.may_retry(pairs.at(1), 14 * kSecond));
  pairs.proven(pairs.at(1));
  EXPECT_FALSE(pairs.is_suspect(pairs.at(1)));
}

TEST(Pairs, PortThatIsDown_IsNotChosen_AndTrustedWhenItIsUp) {
  Pairs pairs(2, 2);
  pairs.failed(pairs.at(0), 1'000);
  pairs.set_there(0b10);
  EXPECT_EQ(pairs.choose(1)->number, 1);
  pairs.set_here(0b01);
  EXPECT_FALSE(pairs.choose(1).has_value());
  pairs.set_there(0b11);
  EXPECT_EQ(pairs.choose(2)->number, 0);
  EXPECT_FALSE(pairs.is_suspect(pairs.at(0)));
}

TEST(Pairs, DataPaths_AreAsManyForEachPair) {
  EXPECT_EQ(data_paths_for(2, 1, 1), 2u);
  EXPECT_EQ(data_paths_for(0, 1, 1), 1u);
  EXPECT_EQ(data_paths_for(1, 2, 3), 3u);
  EXPECT_EQ(data_paths_for(3, 2, 2), 4u);
  EXPECT_EQ(data_paths_for(15, 4, 1), 12u);
  EXPECT_EQ(data_paths_for(500, 1, 8), 8u);
}

TEST(VerbsControlMessage, LengthsThatDisagree_AreRefused) {
  ControlMessage message;
  message.addresses.resize(2);
  message.hello_bytes = 1;
  EXPECT_FALSE(from_frame(to_frame(message)).ok());
  ControlFrame frame = to_frame(message);
  frame.blob.resize(40);
  EXPECT_FALSE(from_frame(frame).ok());
}

}  // namespace
}  // namespace thinwire::transports::verbs
