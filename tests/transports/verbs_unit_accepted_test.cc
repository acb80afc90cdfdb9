// What devices may or may not accept: extensions of the standard, adaptive routing, relaxed
// ordering.
#include <gmock/gmock.h>

#include "tests/transports/verbs_link.h"

namespace thinwire::transports::verbs {
namespace {

using contract::Bytes;
using contract::pattern;
using fakes::FakeHcaOptions;
using ::testing::ElementsAre;

constexpr std::size_t kLong = 300'000;

class VerbsAccepted : public VerbsLink {
 protected:
  // A connection from the device "a" to "b".
  void connect(FakeHcaOptions here, FakeHcaOptions there) {
    here.name = "a";
    there.name = "b";
    VerbsLink::connect({here, there}, {0}, {1});
  }
  void send(std::size_t bytes) {
    Bytes sent = pattern(bytes, 1), got(bytes);
    const ReceiveBuffer buffer{got.data(), got.size(), 1, {}};
    done_.clear();
    ASSERT_TRUE(to_->post_receive({&buffer, 1}, 1).ok());
    ASSERT_TRUE(from_->post_send(sent.data(), sent.size(), 1, {}, 2).ok());
    ASSERT_TRUE(until([&] { return done_.size() == 2; }));
    EXPECT_TRUE(got == sent);
  }
};

TEST_F(VerbsAccepted, Extensions_AreThoseThatBothDevicesKnow_OnEveryQueuePair) {
  connect({.extensions = 0b0111}, {.extensions = 0b1110});
  EXPECT_THAT(network().extensions_in_use("a"), ElementsAre(0b0110));
  EXPECT_THAT(network().extensions_in_use("b"), ElementsAre(0b0110));
  send(kLong);
}

TEST_F(VerbsAccepted, ExtensionsOfAMendedPath_AreTheSame) {
  connect({.extensions = 0b0111}, {.extensions = 0b1110});
  for (int after = 0; after < 6; ++after) {
    network().fail_send_after(after, fakes::Loss::packet);
    send(kLong);
    if (HasFatalFailure()) return;
  }
  EXPECT_THAT(all_warnings, ::testing::HasSubstr("goes on after"));
  EXPECT_THAT(network().extensions_in_use("a"), ElementsAre(0b0110));
  EXPECT_THAT(network().extensions_in_use("b"), ElementsAre(0b0110));
}

TEST_F(VerbsAccepted, ExtensionsThatOneSideLacks_AreNotUsed) {
  for (const std::uint32_t here : {0u, 0b11u}) {
    connect({.extensions = here}, {.extensions = 0b11 ^ here});
    EXPECT_THAT(network().extensions_in_use("a"), ElementsAre(0));
    EXPECT_THAT(network().extensions_in_use("b"), ElementsAre(0));
    send(kLong);
  }
}

TEST_F(VerbsAccepted, Extensions_AreNotUsedWhenNotWanted) {
  config_.ib_ece = 0;
  connect({.extensions = 0b1}, {.extensions = 0b1});
  EXPECT_THAT(network().extensions_in_use("a"), ElementsAre(0));
  send(kLong);
}

// Written by writes that bring immediate data: switches route those in one way only.
TEST_F(VerbsAccepted, AdaptiveRouting_IsForLongMessagesOverInfiniBandOrWhereAskedFor) {
  const struct {
    int link_layer;
    std::int64_t wanted;
    std::int64_t threshold;
    bool told_apart;
  } kTable[] = {
      {IBV_LINK_LAYER_INFINIBAND, -2, 8192, true},
      {IBV_LINK_LAYER_INFINIBAND, 0, 8192, false},
      {IBV_LINK_LAYER_INFINIBAND, -2, kLong, false},
      {IBV_LINK_LAYER_INFINIBAND, -2, kLong - 1, true},
      {IBV_LINK_LAYER_ETHERNET, -2, 8192, false},
      {IBV_LINK_LAYER_ETHERNET, 1, 8192, true},
  };
  for (const auto& row : kTable) {
    config_.ib_adaptive_routing = row.wanted;
    config_.ib_ar_threshold = row.threshold;
    connect({.link_layer = row.link_layer}, {.link_layer = row.link_layer});
    send(kLong);
    EXPECT_EQ(network().bytes_written("a"), kLong);
    EXPECT_EQ(network().bytes_written_telling("a"), row.told_apart ? 0 : kLong) << row.wanted;
  }
}

TEST_F(VerbsAccepted, AdaptiveRouting_OfStripedAndCutMessages_LeavesImmediateDataAlone) {
  const FakeHcaOptions hca{.link_layer = IBV_LINK_LAYER_INFINIBAND, .max_message_bytes = 100'000};
  connect(hca, hca);
  for (const std::size_t bytes : {std::size_t{200'000}, kLong, std::size_t{5'000'000}}) send(bytes);
  EXPECT_EQ(network().bytes_written("a"), 5'500'000u);
  EXPECT_EQ(network().bytes_written_telling("a"), 0u);
}

TEST_F(VerbsAccepted, RelaxedOrdering_IsAskedForUnlessNotWanted) {
  for (const bool wanted : {true, false}) {
    config_.ib_relaxed_ordering = wanted ? 2 : 0;
    connect({}, {});
    send(kLong);
    EXPECT_EQ((network().access_given() & IBV_ACCESS_RELAXED_ORDERING) != 0, wanted);
  }
}

}  // namespace
}  // namespace thinwire::transports::verbs
