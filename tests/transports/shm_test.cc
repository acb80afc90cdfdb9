// Shared memory in what the contract suite cannot see: what is left behind, peers that are killed,
// that lie, or that share nothing; messages that stay where they are; the peer's memory.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "transports/shm/connection.h"
#include "transports/shm/shm_transport.h"
#include "transports/tcp/tcp_transport.h"

namespace thinwire::transports::shm {
namespace {

constexpr auto kHangDeadline = std::chrono::seconds(60);

Config loopback() {
  Config config;
  config.socket_ifname = "=lo";
  return config;
}

// A transport with its own control transport.
struct Host {
  Log log{[](LogLevel, const char*, int, const char*) {}};
  SteadyClock clock;
  tcp::TcpTransport control{loopback(), log, clock};
  ShmTransport transport{loopback(), log, clock, control};
};

bool until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kHangDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

// Two endpoints of this process and a connection between them.
struct Pair {
  explicit Pair(Host& host)
      : left(host.transport.open(0).value()), right(host.transport.open(0).value()) {
    auto listener = right->listen().value();
    from = left->connect(listener->handle(), {}).value();
    until([&] {
      left->poll({});
      right->poll({});
      if (auto accepted = right->try_accept(*listener); accepted.ok()) {
        to = std::move(accepted).value();
      }
      return to && from->state().ok();
    });
  }
  Completion next(Endpoint& endpoint) {
    std::array<Completion, 1> one;
    until([&] {
      Endpoint& other = &endpoint == left.get() ? *right : *left;
      other.poll({});
      return endpoint.poll(one) == 1;
    });
    return one[0];
  }

  std::unique_ptr<Endpoint> left;
  std::unique_ptr<Endpoint> right;
  std::unique_ptr<Connection> from;
  std::unique_ptr<Connection> to;
};

std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  DIR* directory = ::opendir(folder);
  while (directory != nullptr && ::readdir(directory) != nullptr) ++count;
  if (directory != nullptr) ::closedir(directory);
  return count;
}

class ShmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto devices = host_.transport.probe(); !devices.ok()) {
      GTEST_SKIP() << devices.status().text();
    }
  }
  Host host_;
};

TEST_F(ShmTest, HundredPairs_MadeAndDestroyed_LeaveNothing) {
  { const Pair warm_up(host_); }
  const std::size_t descriptors = entries_of("/proc/self/fd");
  const std::size_t threads = entries_of("/proc/self/task");
  for (int i = 0; i < 100; ++i) {
    Pair pair(host_);
    const std::byte data{1};
    ASSERT_TRUE(pair.from->post_send(&data, 1, 1, {}, 1).ok());
    EXPECT_TRUE(pair.next(*pair.left).status.ok());
  }
  EXPECT_EQ(entries_of("/proc/self/fd"), descriptors);
  EXPECT_EQ(entries_of("/proc/self/task"), threads);
}

TEST_F(ShmTest, BorrowedReceive_LeavesTheMessageInPlace_UntilGivenBack) {
  Pair pair(host_);
  std::vector<float> sent(1000, 2.0F);
  std::vector<float> buffer(1000);
  const std::size_t bytes = sent.size() * sizeof(float);
  // More messages than there are chunks: each has to come back.
  for (std::uint64_t i = 0; i < 2 * kChunks; ++i) {
    const ReceiveBuffer into{buffer.data(), bytes, i, {}, true};
    if (i % 2 == 0) {
      ASSERT_TRUE(pair.to->post_receive({&into, 1}, i).ok());
    }
    ASSERT_TRUE(pair.from->post_send(sent.data(), bytes, i, {}, i).ok());
    ASSERT_TRUE(pair.next(*pair.left).status.ok());
    if (i % 2 != 0) {
      ASSERT_TRUE(pair.to->post_receive({&into, 1}, i).ok());
    }
    const Completion done = pair.next(*pair.right);
    ASSERT_TRUE(done.status.ok());
    ASSERT_EQ(done.bytes[0], bytes);
    ASSERT_NE(done.view, nullptr);
    auto* const view = static_cast<float*>(done.view);
    ASSERT_EQ(std::memcmp(view, sent.data(), bytes), 0);
    view[0] = 7.0F;  // nobody else's
    EXPECT_EQ(sent[0], 2.0F);
    pair.to->give_back(done.view);
  }
  EXPECT_EQ(buffer[0], 0.0F);
}

TEST_F(ShmTest, EverythingBorrowed_TheRestIsCopied_AndTrafficGoesOn) {
  Pair pair(host_);
  const std::vector<char> sent(kLargeBytes, 'x');
  std::vector<std::vector<char>> got(3 * kLargeChunks, std::vector<char>(sent.size()));
  std::vector<void*> views;
  for (std::uint64_t i = 0; i < got.size(); ++i) {
    const ReceiveBuffer into{got[i].data(), sent.size(), i, {}, true};
    ASSERT_TRUE(pair.to->post_receive({&into, 1}, i).ok());
    ASSERT_TRUE(pair.from->post_send(sent.data(), sent.size(), i, {}, i).ok());
    const Completion done = pair.next(*pair.right);
    ASSERT_TRUE(done.status.ok());
    if (done.view != nullptr) {
      views.push_back(done.view);
    } else {
      EXPECT_TRUE(got[done.cookie] == sent);
    }
  }
  EXPECT_EQ(views.size(), kLargeChunks / 2);
  for (void* view : views) {
    EXPECT_EQ(std::memcmp(view, sent.data(), sent.size()), 0);
    pair.to->give_back(view);
  }
}

TEST_F(ShmTest, UnexpectedMessages_BeyondTheLane_LetOthersPass) {
  Pair pair(host_);
  const std::vector<char> sent(kLargeBytes, 'x');
  std::vector<char> got(sent.size());
  constexpr std::uint64_t kAwaited = 1000;
  for (std::uint64_t i = 0; i < kLargeChunks + 4; ++i) {
    ASSERT_TRUE(pair.from->post_send(sent.data(), sent.size(), i, {}, i).ok());
  }
  ASSERT_TRUE(pair.from->post_send(sent.data(), sent.size(), kAwaited, {}, kAwaited).ok());
  const ReceiveBuffer into{got.data(), got.size(), kAwaited, {}};
  ASSERT_TRUE(pair.to->post_receive({&into, 1}, kAwaited).ok());
  EXPECT_EQ(pair.next(*pair.right).cookie, kAwaited);
  EXPECT_TRUE(got == sent);
  for (std::uint64_t i = 0; i < kLargeChunks + 4; ++i) {
    std::fill(got.begin(), got.end(), ' ');
    const ReceiveBuffer late{got.data(), got.size(), i, {}, true};
    ASSERT_TRUE(pair.to->post_receive({&late, 1}, i).ok());
    const Completion done = pair.next(*pair.right);
    EXPECT_EQ(std::memcmp(done.view == nullptr ? got.data() : done.view, sent.data(), sent.size()),
              0);
    if (done.view != nullptr) pair.to->give_back(done.view);
  }
  EXPECT_GT(pair.right->counters().unexpected_bytes, 0u);
}

TEST_F(ShmTest, LongMessage_BorrowedOrNot_LandsInItsBuffer) {
  Pair pair(host_);
  const std::vector<char> sent(3 * kLargeBytes + 5, 'x');
  std::vector<char> got(sent.size());
  const ReceiveBuffer into{got.data(), got.size(), 1, {}, true};
  ASSERT_TRUE(pair.to->post_receive({&into, 1}, 1).ok());
  ASSERT_TRUE(pair.from->post_send(sent.data(), sent.size(), 1, {}, 2).ok());
  const Completion done = pair.next(*pair.right);
  EXPECT_EQ(done.view, nullptr);
  EXPECT_TRUE(got == sent);
}

TEST_F(ShmTest, SenderGone_BeforeItsLongMessageWasTaken_DeliversNothing) {
  Pair pair(host_);
  for (int i = 0; i < 10; ++i) (pair.left->poll({}), pair.right->poll({}));
  auto sent = std::make_unique<std::vector<char>>(8 * kLargeBytes, 'x');
  std::vector<char> got(sent->size());
  ASSERT_TRUE(pair.from->post_send(sent->data(), sent->size(), 1, {}, 1).ok());
  pair.from.reset();
  sent.reset();
  const ReceiveBuffer into{got.data(), got.size(), 1, {}};
  ASSERT_TRUE(pair.to->post_receive({&into, 1}, 2).ok());
  EXPECT_EQ(pair.next(*pair.right).status.code(), Code::peer_lost);
}

// A child connects to this process, says so by a message, and sleeps until it is killed.
[[noreturn]] void be_killed(const Handle& handle) {
  Host host;
  auto endpoint = host.transport.open(0).value();
  auto connection = endpoint->connect(handle, {}).value();
  const std::byte data{1};
  while (!connection->post_send(&data, 1, 1, {}, 1).ok()) endpoint->poll({});
  while (true) endpoint->wait(1'000'000);
}

TEST_F(ShmTest, PeerKilled_WhilePostsWait_TheyFailWithPeerLost) {
  auto endpoint = host_.transport.open(0).value();
  auto listener = endpoint->listen().value();
  const pid_t child = ::fork();
  if (child == 0) be_killed(listener->handle());
  std::unique_ptr<Connection> connection;
  ASSERT_TRUE(until([&] {
    endpoint->poll({});
    if (auto accepted = endpoint->try_accept(*listener); accepted.ok()) {
      connection = std::move(accepted).value();
    }
    return connection != nullptr;
  }));
  std::byte data{};
  std::array<Completion, 1> done;
  const ReceiveBuffer first{&data, 1, 1, {}};
  ASSERT_TRUE(connection->post_receive({&first, 1}, 1).ok());
  ASSERT_TRUE(until([&] { return endpoint->poll(done) == 1; }));
  ASSERT_TRUE(done[0].status.ok());
  const ReceiveBuffer never{&data, 1, 2, {}};
  ASSERT_TRUE(connection->post_receive({&never, 1}, 2).ok());
  ::kill(child, SIGKILL);
  // Asleep, as a worker would be.
  ASSERT_TRUE(until([&] {
    endpoint->wait(1'000'000);
    return endpoint->poll(done) == 1;
  }));
  EXPECT_EQ(done[0].status.code(), Code::peer_lost);
  EXPECT_EQ(connection->state().code(), Code::peer_lost);
  ::waitpid(child, nullptr, 0);
}

// The halves over a lane of this process's own, to put nonsense there.
class LaneTest : public ::testing::Test {
 protected:
  void SetUp() override { receiver_.wire(*lane_, remote_); }
  void arrive(const Entry& entry) {
    lane_->entries[lane_->written.load() % kEntries] = entry;
    lane_->written.fetch_add(1);
    receiver_.progress();
  }

  std::unique_ptr<Lane> lane_{new Lane{}};
  RemoteMemory remote_;
  Finished finished_;
  Receiver receiver_{1, finished_};
};

TEST_F(LaneTest, SoundEntry_IsTaken) {
  arrive({1, 10, 0, 10, 0});
  EXPECT_TRUE(receiver_.failure().ok());
  EXPECT_EQ(lane_->taken.load(), 1u);
}

TEST_F(LaneTest, ChunkThatDoesNotExist_IsRefused) {
  arrive({1, 10, 0, 10, kChunks});
  EXPECT_EQ(receiver_.failure().code(), Code::peer_lost);
}

TEST_F(LaneTest, PartLongerThanItsChunk_IsRefused) {
  arrive({1, kLargeBytes, 0, kSmallBytes + 1, 0});
  EXPECT_EQ(receiver_.failure().code(), Code::peer_lost);
}

TEST_F(LaneTest, PartsLongerThanTheirMessage_AreRefused) {
  arrive({1, 5000, 0, kSmallBytes, 0});
  EXPECT_TRUE(receiver_.failure().ok());
  arrive({1, 5000, 0, kSmallBytes, 1});
  EXPECT_EQ(receiver_.failure().code(), Code::peer_lost);
}

TEST_F(LaneTest, AddressWhereMemoryCannotBeRead_IsRefused) {
  arrive({1, 200000, 4096, 0, kChunks});
  EXPECT_EQ(receiver_.failure().code(), Code::peer_lost);
}

TEST_F(LaneTest, MoreEntriesThanThereAre_AreRefused) {
  lane_->written.store(kEntries + 1);
  receiver_.progress();
  EXPECT_EQ(receiver_.failure().code(), Code::peer_lost);
}

TEST_F(LaneTest, ChunkReturnedTwice_IsNoticed) {
  Sender sender(1, finished_);
  sender.wire(*lane_);
  lane_->returns[0].store(3);
  lane_->returned.store(1);
  sender.progress();
  EXPECT_TRUE(sender.is_corrupt());
}

TEST(LocalSocketTest, NobodyThere_IsSystemError) {
  EXPECT_EQ(LocalSocket::connect(SocketName{{1, 2}}).status().code(), Code::system_error);
}

TEST(LocalSocketTest, MessageWithoutDescriptor_IsAStrangers) {
  auto listener = LocalListener::open();
  ASSERT_TRUE(listener.ok());
  auto caller = LocalSocket::connect(listener.value().name());
  ASSERT_TRUE(caller.ok());
  caller.value().ring();
  LocalSocket arrived = listener.value().accept();
  std::uint64_t nonce = 0;
  UniqueFd fd;
  EXPECT_EQ(arrived.receive_fd(nonce, fd).code(), Code::peer_lost);
}

TEST(SegmentTest, UnsealedMemory_IsRefused) {
  const UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(fd.get(), 4096), 0);
  EXPECT_EQ(Segment::map(fd, 4096).status().code(), Code::peer_lost);
}

}  // namespace
}  // namespace thinwire::transports::shm
