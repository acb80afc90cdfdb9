// Closing while posts are under way, at many moments of their way: their memory is the caller's
// again once the connection is gone, and what is broken off fails the peer, whatever it read.
#include <sys/mman.h>

#include "tests/transports/contract.h"

namespace thinwire::transports::contract {
namespace {

// Memory whose use after revoke() ends the test program.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Pages() { ::munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::span<std::byte> span() const { return {static_cast<std::byte*>(data_), bytes_}; }
  void revoke() const { ::mprotect(data_, bytes_, PROT_NONE); }

 private:
  const std::size_t bytes_;
  void* const data_;
};

// So many messages of such a size: more than a shared queue takes, than a socket takes, and large
// ones.
struct Batch {
  std::size_t count;
  std::size_t bytes;
  std::size_t total() const { return count * bytes; }
};
constexpr Batch kBatches[] = {{100, 10}, {100, 8'000}, {6, 350'000}};

struct Moment {
  Batch batch;
  int sender_rounds;  // polls of the sender's endpoint before it ends
  int receiver_rounds;
};

std::vector<Moment> moments() {
  std::vector<Moment> all;
  for (const Batch& batch : kBatches) {
    for (const int sender_rounds : {0, 1, 20}) {
      for (const int receiver_rounds : {0, 1, 3}) {
        all.push_back({batch, sender_rounds, receiver_rounds});
      }
    }
  }
  return all;
}

class Closing : public Contract {
 protected:
  // A link with messages under way from `from` to `to`, of which every other one is awaited.
  Link link_with_posts(const Pages& out, const Pages& in, const Moment& moment) {
    Link link = connect_link();
    post_receives(link, in, moment.batch, 2);
    post_sends(link, out, moment.batch);
    for (int i = 0; i < moment.sender_rounds; ++i) poll(*left_);
    for (int i = 0; i < moment.receiver_rounds; ++i) poll(*right_);
    return link;
  }

  void post_sends(Link& link, const Pages& out, const Batch& batch) {
    for (std::uint64_t i = 0; i < batch.count; ++i) {
      const std::byte* data = out.span().data() + i * batch.bytes;
      const Status posted = link.from.connection->post_send(data, batch.bytes, i, {}, next_++);
      EXPECT_TRUE(posted.ok() || posted.is_would_block());
    }
  }

  void post_receives(Link& link, const Pages& in, const Batch& batch, std::uint64_t step) {
    for (std::uint64_t i = 0; i < batch.count; i += step) {
      const ReceiveBuffer buffer{in.span().data() + i * batch.bytes, batch.bytes, i, {}};
      const Status posted = link.to.connection->post_receive({&buffer, 1}, next_++);
      EXPECT_TRUE(posted.ok() || posted.is_would_block());
    }
  }

  static void poll(Endpoint& endpoint) {
    std::array<Completion, 16> polled;
    endpoint.poll(polled);
  }

  // What came whole may still be received, until something is asked for that never comes.
  void expect_peer_lost(const Side& side) {
    static std::byte never;
    const ReceiveBuffer buffer{&never, 1, std::uint64_t{1} << 40, {}};
    const Status posted = side.connection->post_receive({&buffer, 1}, next_++);
    EXPECT_TRUE(posted.ok() || posted.code() == Code::peer_lost || posted.is_would_block());
    ASSERT_TRUE(progress_until([&] { return side.connection->state().failed(); }));
    EXPECT_EQ(side.connection->state().code(), Code::peer_lost);
  }

 private:
  std::uint64_t next_ = 1'000'000;
};

TEST_P(Closing, SenderWithPostsUnderWay_ItsMemoryIsLeftAlone) {
  for (const Moment& moment : moments()) {
    const Pages out(moment.batch.total()), in(moment.batch.total());
    Link link = link_with_posts(out, in, moment);
    link.from.connection.reset();
    out.revoke();
    expect_peer_lost(link.to);
    link.to.connection.reset();
    in.revoke();
    for (int i = 0; i < 4; ++i) poll_once();
  }
}

TEST_P(Closing, ReceiverWithPostsUnderWay_ItsMemoryIsLeftAlone) {
  for (const Moment& moment : moments()) {
    const Pages out(moment.batch.total()), in(moment.batch.total());
    Link link = link_with_posts(out, in, moment);
    link.to.connection.reset();
    in.revoke();
    expect_peer_lost(link.from);
    link.from.connection.reset();
    out.revoke();
    for (int i = 0; i < 4; ++i) poll_once();
  }
}

// As NCCL does it when it aborts: it frees what it posted, then closes.
TEST_P(Closing, SenderWhoseMemoryIsGone_ItIsLeftAlone) {
  for (const Moment& moment : moments()) {
    const Pages out(moment.batch.total()), in(moment.batch.total());
    Link link = link_with_posts(out, in, moment);
    out.revoke();
    link.from.connection.reset();
    expect_peer_lost(link.to);
    link.to.connection.reset();
  }
}

TEST_P(Closing, ReceiverWhoseMemoryIsGone_ItIsLeftAlone) {
  for (const Moment& moment : moments()) {
    const Pages out(moment.batch.total()), in(moment.batch.total());
    Link link = link_with_posts(out, in, moment);
    in.revoke();
    link.to.connection.reset();
    expect_peer_lost(link.from);
    link.from.connection.reset();
  }
}

// What the sender was asked for is on its way, or here.
TEST_P(Closing, ReceiverWhoseMemoryIsGoneUnderALargeMessage_ItIsLeftAlone) {
  constexpr Batch kLarge{1, 4'000'000};
  for (int rounds = 0; rounds < 16; ++rounds) {
    const Pages out(kLarge.total()), in(kLarge.total());
    Link link = link_with_posts(out, in, {kLarge, 0, 0});
    for (int i = 0; i < rounds; ++i) poll_once();
    poll(*left_);
    in.revoke();
    link.to.connection.reset();
    for (int i = 0; i < 4; ++i) poll(*right_);
    link.from.connection.reset();
  }
}

// The receiver begins to take messages that are there, and ends before it has them.
TEST_P(Closing, RightAfterThePostsForWaitingMessages_TheirMemoryIsLeftAlone) {
  for (const Batch& batch : kBatches) {
    const Pages out(batch.total()), in(batch.total());
    Link link = connect_link();
    post_sends(link, out, batch);
    for (int i = 0; i < 50; ++i) poll_once();
    post_receives(link, in, batch, 1);
    link.to.connection.reset();
    in.revoke();
    expect_peer_lost(link.from);
    link.from.connection.reset();
    out.revoke();
    for (int i = 0; i < 4; ++i) poll_once();
  }
}

TEST_P(Closing, BothWithoutASingleRound_TheirMemoryIsLeftAlone) {
  for (const Batch& batch : kBatches) {
    const Pages out(batch.total()), in(batch.total());
    Link link = link_with_posts(out, in, {batch, 0, 0});
    link.from.connection.reset();
    out.revoke();
    link.to.connection.reset();
    in.revoke();
    for (int i = 0; i < 20; ++i) poll_once();
  }
}

// Destroying a connection drops its posts without looking at what they point to.
TEST_P(Closing, AfterTheMemoryIsGone_DoesNotReadIt) {
  for (const Batch& batch : kBatches) {
    const Pages out(batch.total()), in(batch.total());
    // The receiver has made room for what the sender may still hold back.
    Link link = link_with_posts(out, in, {batch, 0, 3});
    out.revoke();
    in.revoke();
    link.from.connection.reset();
    link.to.connection.reset();
  }
}

TEST_P(Closing, OneOfMany_OthersCarryOn) {
  auto listener = right_->listen();
  ASSERT_TRUE(listener.ok());
  std::vector<Link> links;
  for (int i = 0; i < 12; ++i) links.push_back(connect_link(*listener.value()));
  constexpr std::size_t kBytes = 300'000;
  for (std::size_t i = 0; i < links.size(); i += 2) {
    const Pages out(kBytes), in(kBytes);
    const ReceiveBuffer buffer{in.span().data(), kBytes, 1, {}};
    ASSERT_TRUE(links[i].to.connection->post_receive({&buffer, 1}, 9'000'000 + 2 * i).ok());
    ASSERT_TRUE(links[i]
                    .from.connection->post_send(out.span().data(), kBytes, 1, {}, 9'000'001 + 2 * i)
                    .ok());
    for (std::size_t round = 0; round < i / 2; ++round) poll_once();
    (i % 4 == 0 ? links[i].from : links[i].to).connection.reset();
    (i % 4 == 0 ? out : in).revoke();
    exchange(links[i + 1].from, links[i + 1].to, 50'000, 1, true);
    (i % 4 == 0 ? links[i].to : links[i].from).connection.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(Transport, Closing, ::testing::ValuesIn(cases()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Closing);

}  // namespace
}  // namespace thinwire::transports::contract
