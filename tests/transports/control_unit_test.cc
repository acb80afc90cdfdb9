// What transports share that stand on another one's connections: marked handles, control links.
#include <gtest/gtest.h>

#include <cstring>

#include "transports/control_listener.h"
#include "transports/memory/memory_transport.h"

namespace thinwire::transports {
namespace {

constexpr Mark kMark{9, "another transport (THINWIRE_TRANSPORT)"};
constexpr ControlFormat kFormat{0x12345678, 1, "foreign", "other version"};

Handle handle_of(std::uint8_t transport) {
  Handle handle;
  std::memcpy(handle.bytes.data(), &kHandleMagic, sizeof kHandleMagic);
  handle.bytes[4] = std::byte{1};
  handle.bytes[6] = std::byte{transport};
  for (std::size_t i = 8; i < kHandleBytes; ++i) handle.bytes[i] = static_cast<std::byte>(i);
  return handle;
}

TEST(MarkedHandle, Marked_ComesBack) {
  const Handle control = handle_of(1);
  const Handle marked = mark_handle(control, kMark);
  EXPECT_EQ(marked.bytes[6], std::byte{kMark.number});
  const auto unmarked = unmark_handle(marked, kMark);
  ASSERT_TRUE(unmarked.ok());
  EXPECT_EQ(unmarked.value().bytes, control.bytes);
}

TEST(MarkedHandle, OfAnotherTransport_IsNamed) {
  const auto unmarked = unmark_handle(handle_of(1), kMark);
  EXPECT_EQ(unmarked.status().code(), Code::peer_lost);
  EXPECT_STREQ(unmarked.status().text(), kMark.stranger);
  EXPECT_EQ(unmark_handle(Handle{}, kMark).status().code(), Code::invalid_argument);
}

// Two endpoints joined by one connection, each with its own idea of the format.
class ControlLinkPair : public ::testing::Test {
 protected:
  void join(const ControlFormat& left_format) {
    auto listener = right_->listen();
    auto connected = left_->connect(listener.value()->handle(), {});
    left_links_ = std::make_unique<ControlLinks>(left_format, *left_);
    left_link_ = std::make_unique<ControlLink>(*left_links_, std::move(connected).value());
    for (int i = 0; i < 100 && !right_link_; ++i) {
      progress();
      auto accepted = right_->try_accept(*listener.value());
      if (accepted.ok())
        right_link_ = std::make_unique<ControlLink>(right_links_, std::move(accepted).value());
    }
    ASSERT_TRUE(right_link_);
  }
  void progress() {
    if (left_links_) left_links_->poll();
    right_links_.poll();
    if (left_link_) left_link_->progress();
    if (right_link_) right_link_->progress();
  }
  void progress_until_quiet() {
    for (int i = 0; i < 100; ++i) progress();
  }

  memory::MemoryFabric fabric_;
  memory::MemoryTransport transport_{fabric_};
  std::unique_ptr<Endpoint> left_ = transport_.open(0).value();
  std::unique_ptr<Endpoint> right_ = transport_.open(0).value();
  std::unique_ptr<ControlLinks> left_links_;
  ControlLinks right_links_{kFormat, *right_};
  std::unique_ptr<ControlLink> left_link_;
  std::unique_ptr<ControlLink> right_link_;
};

TEST_F(ControlLinkPair, Frames_WithAndWithoutBlob_ArriveInOrder) {
  join(kFormat);
  for (const std::size_t blob : {0u, 300u, 0u, 70000u}) {
    ControlFrame frame;
    frame.fields[63] = static_cast<std::byte>(blob);
    frame.blob.assign(blob, std::byte{7});
    left_link_->send(std::move(frame));
  }
  progress_until_quiet();
  for (const std::size_t blob : {0u, 300u, 0u, 70000u}) {
    ASSERT_TRUE(right_link_->has_frame());
    const ControlFrame frame = right_link_->take_frame();
    EXPECT_EQ(frame.fields[63], static_cast<std::byte>(blob));
    EXPECT_EQ(frame.blob, std::vector<std::byte>(blob, std::byte{7}));
  }
  EXPECT_TRUE(left_link_->is_quiet());
}

TEST_F(ControlLinkPair, ForeignMagic_FailsTheLink) {
  ControlFormat format = kFormat;
  format.magic ^= 1;
  join(format);
  left_link_->send({});
  progress_until_quiet();
  EXPECT_EQ(right_link_->state().code(), Code::peer_lost);
  EXPECT_STREQ(right_link_->state().text(), kFormat.foreign);
}

TEST_F(ControlLinkPair, AnotherVersion_IsNamed) {
  ControlFormat format = kFormat;
  format.version = 99;
  join(format);
  left_link_->send({});
  progress_until_quiet();
  EXPECT_STREQ(right_link_->state().text(), kFormat.other_version);
  EXPECT_EQ(right_link_->state().native(), 99);
}

TEST_F(ControlLinkPair, BlobBeyondTheLimit_FailsTheLink) {
  join(kFormat);
  ControlFrame frame;
  frame.blob.resize((std::size_t{1} << 20) + 1);
  left_link_->send(std::move(frame));
  progress_until_quiet();
  EXPECT_EQ(right_link_->state().code(), Code::peer_lost);
}

}  // namespace
}  // namespace thinwire::transports
