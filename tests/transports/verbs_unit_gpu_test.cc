// GPU memory over verbs: registered as a DMA-BUF, never touched by the processor, flushed. The
// "GPU's" memory is a range of addresses that fault, with what is there somewhere else.
#include <sys/mman.h>

#include <algorithm>

#include "tests/transports/verbs_link.h"

namespace thinwire::transports::verbs {
namespace {

using fakes::FakeHcaOptions;

constexpr std::size_t kBytes = std::size_t{1} << 20;

class GpuMemory {
 public:
  GpuMemory() {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
    address_ = static_cast<std::byte*>(::mmap(nullptr, kBytes, PROT_NONE, kFlags, -1, 0));
    real_ = static_cast<std::byte*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0));
  }
  ~GpuMemory() {
    ::munmap(address_, kBytes);
    ::munmap(real_, kBytes);
  }
  std::byte* address() const { return address_; }
  std::span<std::byte> real() const { return {real_, kBytes}; }
  MemoryKey register_with(Endpoint& endpoint, fakes::FakeNetwork& network) const {
    network.set_dmabuf_offset(real_ - address_);
    const auto key = endpoint.register_dmabuf(address_, kBytes, 0, 7);
    EXPECT_TRUE(key.ok()) << key.status().text();
    return key.ok() ? key.value() : MemoryKey{};
  }

 private:
  std::byte* address_;
  std::byte* real_;
};

void fill(std::span<std::byte> bytes, std::size_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 31 + seed * 7) & 0xff);
  }
}

class VerbsGpu : public VerbsLink {
 protected:
  void connect(int members) {
    std::vector<FakeHcaOptions> hcas;
    std::vector<int> left, right;
    for (int i = 0; i < 2 * members; ++i) {
      FakeHcaOptions hca{.name = "fake" + std::to_string(i), .dmabuf = true};
      hca.address = "::ffff:10.0.0." + std::to_string(i + 1);
      hcas.push_back(hca);
      (i < members ? left : right).push_back(i);
    }
    VerbsLink::connect(hcas, left, right);
    from_key_ = source_.register_with(*left_, network());
    to_key_ = target_.register_with(*right_, network());
  }
  // From GPU memory into GPU memory, and a flush of it.
  void send_and_flush(std::size_t bytes, bool receive_first) {
    fill(source_.real().first(bytes), bytes);
    std::ranges::fill(target_.real(), std::byte{0xee});
    const ReceiveBuffer buffer{target_.address(), kBytes, 1, to_key_};
    if (receive_first) {
      ASSERT_TRUE(to_->post_receive({&buffer, 1}, 2).ok());
    }
    ASSERT_TRUE(from_->post_send(data_, bytes, 1, data_key_, 1).ok());
    if (!receive_first) {
      progress_for(std::chrono::milliseconds(1));
      ASSERT_TRUE(to_->post_receive({&buffer, 1}, 2).ok());
    }
    wait_for(2);
    ASSERT_TRUE(std::ranges::equal(source_.real().first(bytes), target_.real().first(bytes)));
    ASSERT_EQ(target_.real()[bytes], std::byte{0xee});
    const int before = network().reads_made();
    ASSERT_TRUE(to_->post_flush(target_.address(), to_key_, 3).ok());
    wait_for(3);
    EXPECT_GT(network().reads_made(), before);
  }
  void wait_for(std::uint64_t cookie) {
    ASSERT_TRUE(until([&] {
      return std::ranges::any_of(
          done_, [&](const Completion& done) { return done.cookie == cookie && done.status.ok(); });
    }));
    std::erase_if(done_, [&](const Completion& done) { return done.cookie == cookie; });
  }
  void let_go() {
    if (!left_) return;
    EXPECT_TRUE(left_->deregister_memory(from_key_).ok());
    EXPECT_TRUE(right_->deregister_memory(to_key_).ok());
  }
  void TearDown() override {
    let_go();
    VerbsLink::TearDown();
  }

  GpuMemory source_, target_;
  MemoryKey from_key_, to_key_;
  const std::byte* data_ = source_.address();
  MemoryKey data_key_;
};

TEST_F(VerbsGpu, AnySize_ArrivesUntouchedByTheProcessorAndIsFlushed) {
  for (const int members : {1, 2}) {
    connect(members);
    data_key_ = from_key_;
    for (const std::size_t bytes : {0u, 1u, 100u, 8128u, 8129u, 32512u, 32513u, 700001u}) {
      for (const bool receive_first : {true, false}) {
        SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::to_string(members) + " members");
        ASSERT_NO_FATAL_FAILURE(send_and_flush(bytes, receive_first));
      }
    }
    let_go();
    disconnect();
  }
}

// Short messages from host memory come in slots: the device copies them on.
TEST_F(VerbsGpu, ShortMessagesOfTheHost_AreCopiedByTheDevice) {
  connect(1);
  data_ = source_.real().data();
  for (const std::size_t bytes : {1u, 100u, 8128u, 8129u, 32512u}) {
    for (const bool receive_first : {true, false}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes");
      ASSERT_NO_FATAL_FAILURE(send_and_flush(bytes, receive_first));
    }
  }
}

TEST_F(VerbsGpu, ManyFlushes_AllCompleteInOrder) {
  connect(2);
  for (std::uint64_t cookie = 10; cookie < 110; ++cookie) {
    ASSERT_TRUE(to_->post_flush(target_.address(), to_key_, cookie).ok());
  }
  ASSERT_TRUE(until([&] { return done_.size() == 100; }));
  for (std::size_t i = 0; i < done_.size(); ++i) EXPECT_EQ(done_[i].cookie, 10 + i);
}

TEST_F(VerbsGpu, FlushWithAPortDown_IsDoneByTheOther) {
  connect(2);
  network().set_port("fake2", false);
  ASSERT_TRUE(to_->post_flush(target_.address(), to_key_, 3).ok());
  wait_for(3);
}

TEST_F(VerbsGpu, FlushOfAnUnknownKey_IsRefused) {
  connect(1);
  EXPECT_EQ(to_->post_flush(target_.address(), MemoryKey{12345}, 3).code(), Code::invalid_argument);
}

TEST_F(VerbsGpu, ClosingDuringAFlush_LeavesNothing) {
  connect(1);
  ASSERT_TRUE(to_->post_flush(target_.address(), to_key_, 3).ok());
  to_.reset();
}

TEST_F(VerbsDevice, MemoryTypes_AreThoseThatTheDeviceTakes) {
  const auto transport = make({FakeHcaOptions{.name = "a", .dmabuf = true}, {.name = "b"}});
  const auto nics = transport->probe();
  ASSERT_TRUE(nics.ok());
  EXPECT_TRUE(nics.value()[0].dmabuf);
  EXPECT_FALSE(nics.value()[1].dmabuf);
  EXPECT_FALSE(nics.value()[0].peer_memory);
}

}  // namespace
}  // namespace thinwire::transports::verbs
