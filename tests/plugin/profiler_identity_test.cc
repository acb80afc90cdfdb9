#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>

#include "plugin/profiler.h"
#include "tests/plugin/identity_sequences.h"

namespace thinwire::plugin {
namespace {

std::vector<std::string>& lines() {
  static std::vector<std::string> instance;
  return instance;
}
void keep_line(LogLevel, const char*, int, const char* message) { lines().emplace_back(message); }

std::size_t lines_with(const std::string& word) {
  return static_cast<std::size_t>(
      std::count_if(lines().begin(), lines().end(),
                    [&](const std::string& line) { return line.find(word) != line.npos; }));
}

constexpr CommunicatorInfo kFirst{.hash = 0xaaaa, .nodes = 2, .ranks = 2, .rank = 0};
constexpr CommunicatorInfo kSecond{.hash = 0xbbbb, .nodes = 2, .ranks = 2, .rank = 0};

class ProfilerIdentity : public testing::Test {
 protected:
  void SetUp() override { lines().clear(); }

  // Starts a collective and its parts.
  void start(void* context, const CollectiveEvent& tensor, const Cut& cut) {
    start_parts(context, profiler_.start_collective(context, tensor), tensor, cut);
  }
  void start_parts(void* context, const void* parent, const CollectiveEvent& tensor,
                   const Cut& cut) {
    for (int channel = 0; channel < cut.channels; ++channel) {
      ProxyOpEvent part = part_of(cut, channel, cut.steps(tensor.count));
      part.parent = parent;
      part.pid = getpid();
      profiler_.start_part(context, part);
      profiler_.start_part(context, part);
    }
  }
  // Calls with an identity, of all that the tensor takes.
  static std::size_t known(IdentityPort& port, const CollectiveEvent& tensor, const Cut& cut) {
    std::size_t identified = 0;
    for (const ExpectedCall& expected : calls_of(tensor, cut)) {
      const auto identity = port.identify(expected.call);
      EXPECT_EQ(identity ? identity->valid : expected.valid, expected.valid);
      identified += identity.has_value();
      port.accept(expected.call);
    }
    return identified;
  }
  std::uint64_t switched_off() const { return profiler_.counts().switched_off; }

  const Cut cut_{9};
  const CollectiveEvent tensor_ = all_reduce_of(500000, 0x1000);
  const std::size_t all_ = calls_of(tensor_, cut_).size();
  Log log_{keep_line};
  Profiler profiler_{log_};
};

TEST_F(ProfilerIdentity, OneCommunicator_EveryCallIdentified) {
  void* context = profiler_.open(kFirst);
  IdentityPort port(profiler_, kFirst.hash);
  for (int i = 0; i < 3; ++i) {
    start(context, tensor_, cut_);
    EXPECT_EQ(known(port, tensor_, cut_), all_);
  }
  EXPECT_EQ(profiler_.counts().identified, 3 * all_);
  EXPECT_EQ(profiler_.counts().unidentified, 0u);
  EXPECT_TRUE(lines().empty());
  EXPECT_TRUE(profiler_.close(context));
  EXPECT_FALSE(profiler_.close(context));
}

TEST_F(ProfilerIdentity, NotNcclsProfiler_SaidOnce) {
  IdentityPort port(profiler_, kFirst.hash);
  EXPECT_EQ(known(port, tensor_, cut_), 0u);
  EXPECT_EQ(known(port, tensor_, cut_), 0u);
  EXPECT_EQ(profiler_.counts().unidentified, 2 * all_);
  EXPECT_EQ(lines_with("no tensor identity"), 1u);
  EXPECT_EQ(lines().size(), 1u);
}

TEST_F(ProfilerIdentity, TwoCommunicatorsOnOneThread_NamedCallsKeepApart) {
  void* first = profiler_.open(kFirst);
  void* second = profiler_.open(kSecond);
  IdentityPort first_port(profiler_, kFirst.hash);
  IdentityPort second_port(profiler_, kSecond.hash);
  const CollectiveEvent other = all_reduce_of(500000, 0x9000);
  start(first, tensor_, cut_);
  start(second, other, cut_);
  std::vector<std::uint64_t> first_keys;
  std::vector<std::uint64_t> second_keys;
  for (const ExpectedCall& expected : calls_of(tensor_, cut_)) {
    for (auto [port, keys] : {std::pair{&second_port, &second_keys}, {&first_port, &first_keys}}) {
      const auto identity = port->identify(expected.call);
      ASSERT_TRUE(identity);
      keys->push_back(identity->key);
      port->accept(expected.call);
    }
  }
  for (const std::uint64_t key : first_keys) {
    EXPECT_EQ(std::count(second_keys.begin(), second_keys.end(), key), 0);
  }
  EXPECT_EQ(switched_off(), 0u);
}

TEST_F(ProfilerIdentity, TwoCommunicatorsOnOneThread_UnnamedCalls_BothOffSaidOnceEach) {
  void* first = profiler_.open(kFirst);
  void* second = profiler_.open(kSecond);
  IdentityPort port(profiler_, 0);
  start(first, tensor_, cut_);
  EXPECT_EQ(known(port, tensor_, cut_), all_) << "alone on its thread so far";
  start(second, tensor_, cut_);
  EXPECT_EQ(known(port, tensor_, cut_), 0u);
  start(first, tensor_, cut_);
  EXPECT_EQ(known(port, tensor_, cut_), 0u);
  EXPECT_EQ(switched_off(), 2u);
  EXPECT_EQ(lines_with("several communicators"), 2u);
}

// ncclCommSplit with shared resources: the child's operations come through the parent's CollNet.
TEST_F(ProfilerIdentity, ChildThroughParentsCollNet_BothOff) {
  void* parent = profiler_.open(kFirst);
  void* child = profiler_.open(kSecond);
  IdentityPort port(profiler_, kFirst.hash);
  start(child, tensor_, cut_);
  start(parent, tensor_, cut_);
  EXPECT_EQ(known(port, tensor_, cut_), 0u);
  EXPECT_EQ(switched_off(), 2u);
}

TEST_F(ProfilerIdentity, ChildThroughParentsCollNet_ParentStaysOff) {
  void* parent = profiler_.open(kFirst);
  void* child = profiler_.open(kSecond);
  IdentityPort port(profiler_, kFirst.hash);
  start(child, tensor_, cut_);
  EXPECT_EQ(known(port, tensor_, cut_), 0u);
  profiler_.close(child);
  start(parent, tensor_, cut_);
  EXPECT_EQ(known(port, tensor_, cut_), 0u);
}

TEST_F(ProfilerIdentity, TwoNetworkDevices_Off) {
  void* context = profiler_.open(kFirst);
  IdentityPort first(profiler_, kFirst.hash);
  IdentityPort second(profiler_, kFirst.hash);
  start(context, tensor_, cut_);
  EXPECT_TRUE(first.identify(calls_of(tensor_, cut_)[0].call));
  EXPECT_FALSE(second.identify(calls_of(tensor_, cut_)[0].call));
  EXPECT_FALSE(first.identify(calls_of(tensor_, cut_)[0].call));
  EXPECT_EQ(lines_with("several network devices"), 1u);
}

TEST_F(ProfilerIdentity, ConnectedAnew_WorksAgain) {
  void* context = profiler_.open(kFirst);
  std::optional<IdentityPort> ports[2];
  for (auto& port : ports) {
    port.emplace(profiler_, kFirst.hash);
    start(context, tensor_, cut_);
    EXPECT_EQ(known(*port, tensor_, cut_), all_);
    port.reset();
  }
  EXPECT_TRUE(profiler_.in_use());
  profiler_.close(context);
  EXPECT_FALSE(profiler_.in_use());
}

TEST_F(ProfilerIdentity, Mismatch_OffForGoodAndSaidOnce_OthersKeepTheirs) {
  void* first = profiler_.open(kFirst);
  void* second = profiler_.open(kSecond);
  IdentityPort first_port(profiler_, kFirst.hash);
  IdentityPort second_port(profiler_, kSecond.hash);
  start(first, tensor_, cut_);
  start(second, tensor_, cut_);
  collectives::Call wrong = calls_of(tensor_, cut_)[0].call;
  wrong.type = DataType::int32;
  EXPECT_FALSE(first_port.identify(wrong));
  first_port.accept(wrong);
  start(first, tensor_, cut_);
  EXPECT_EQ(known(first_port, tensor_, cut_), 0u);
  EXPECT_EQ(known(second_port, tensor_, cut_), all_);
  EXPECT_EQ(lines_with("the data type differs"), 1u);
  EXPECT_EQ(lines().size(), 1u);
}

TEST_F(ProfilerIdentity, PartsOfOthers_AreNoOperations) {
  void* context = profiler_.open(kFirst);
  IdentityPort port(profiler_, kFirst.hash);
  CollectiveEvent gather = tensor_;
  gather.all_reduce = false;
  start(context, gather, cut_);
  CollectiveEvent ring = tensor_;
  ring.algorithm = CollAlgorithm::other;
  start(context, ring, cut_);
  start_parts(context, Profiler::indifferent(), tensor_, cut_);
  ProxyOpEvent part = part_of(cut_, 0, 1);
  part.parent = address(0xdead0001);
  part.pid = getpid() + 1;  // another process's handle
  profiler_.start_part(context, part);
  part.pid = getpid();
  part.is_send = true;  // the network's own
  profiler_.start_part(context, part);
  start(context, tensor_, cut_);
  EXPECT_EQ(known(port, tensor_, cut_), all_);
  EXPECT_EQ(switched_off(), 0u);
}

TEST_F(ProfilerIdentity, OperationWithoutCollective_OffAndSaidWhenAsked) {
  for (void* parent : {address(0), address(0x1001), address(0x1000)}) {
    lines().clear();
    void* context = profiler_.open(kFirst);
    IdentityPort port(profiler_, kFirst.hash);
    start(context, tensor_, cut_);
    EXPECT_EQ(known(port, tensor_, cut_), all_);
    start_parts(context, parent, tensor_, cut_);
    EXPECT_TRUE(lines().empty());
    EXPECT_EQ(known(port, tensor_, cut_), 0u);
    EXPECT_EQ(lines_with("without its collective"), 1u);
    profiler_.close(context);
  }
}

TEST_F(ProfilerIdentity, GraphReplayed_HandleOfTheCapture_SameKeys) {
  void* context = profiler_.open(kFirst);
  IdentityPort port(profiler_, kFirst.hash);
  const void* parent = profiler_.start_collective(context, tensor_);
  for (int replay = 0; replay < 5; ++replay) {
    start_parts(context, parent, tensor_, cut_);
    EXPECT_EQ(known(port, tensor_, cut_), all_);
  }
  for (std::size_t i = 0; i < kMaxCollectives; ++i) profiler_.start_collective(context, tensor_);
  start_parts(context, parent, tensor_, cut_);  // forgotten by now
  EXPECT_EQ(known(port, tensor_, cut_), 0u);
  EXPECT_EQ(switched_off(), 1u);
}

TEST_F(ProfilerIdentity, StaleContexts_AreRefused) {
  void* context = profiler_.open(kFirst);
  EXPECT_TRUE(profiler_.close(context));
  start(context, tensor_, cut_);
  start(nullptr, tensor_, cut_);
  start(address(0x12345), tensor_, cut_);
  IdentityPort port(profiler_, kFirst.hash);
  EXPECT_EQ(known(port, tensor_, cut_), 0u);
  EXPECT_FALSE(profiler_.close(nullptr));
}

TEST_F(ProfilerIdentity, ClosedBetweenAskingAndTaking_Harmless) {
  void* context = profiler_.open(kFirst);
  IdentityPort port(profiler_, kFirst.hash);
  start(context, tensor_, cut_);
  const collectives::Call call = calls_of(tensor_, cut_)[0].call;
  EXPECT_TRUE(port.identify(call));
  profiler_.close(context);
  port.accept(call);
  EXPECT_EQ(profiler_.counts().unidentified, 1u);
}

// Anything may come in any order: nothing is followed, and no length is beyond its call.
TEST_F(ProfilerIdentity, RandomEvents_NothingWorseThanNoIdentity) {
  std::mt19937 random(11);
  const auto pick = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  std::vector<void*> handles{nullptr, Profiler::indifferent(), address(3), address(~0ul)};
  for (int round = 0; round < 200; ++round) {
    std::vector<void*> contexts{nullptr, address(1), profiler_.open(kFirst), profiler_.open({})};
    IdentityPort first(profiler_, kFirst.hash);
    IdentityPort second(profiler_, 0);
    for (int event = 0; event < 100; ++event) {
      void* context = contexts[static_cast<std::size_t>(pick(4))];
      const CollectiveEvent tensor = all_reduce_of(static_cast<std::size_t>(pick(300000)), 0x1000);
      ProxyOpEvent part = part_of({.chunk_bytes = 32768 * pick(3)}, pick(70) - 2, pick(9) - 1);
      part.parent = handles[random() % handles.size()];
      part.pid = getpid() + (pick(8) == 0);
      IdentityPort& port = pick(4) == 0 ? second : first;
      collectives::Call call;
      call.count = static_cast<std::size_t>(8192 * pick(9));
      call.input = call.output = pick(2) == 0 ? tensor.receive : address(0x9000);
      if (pick(2) == 0) handles.push_back(profiler_.start_collective(context, tensor));
      if (pick(2) == 0) profiler_.start_part(context, part);
      if (pick(2) == 0) start(context, tensor, {.channels = 1 + pick(12)});
      const auto identity = port.identify(call);
      EXPECT_LE(identity ? identity->valid : 0, call.count);
      if (pick(3) != 0) port.accept(call);
    }
    profiler_.close(contexts[2]);
    profiler_.close(contexts[3]);
  }
}

// Application thread and progress thread of several communicators at once.
TEST_F(ProfilerIdentity, ManyThreads_EachCommunicatorKeepsItsOwn) {
  std::vector<std::thread> ranks;
  std::atomic<std::size_t> identified{0};
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      CommunicatorInfo info = kFirst;  // ranks of one communicator in one process
      info.rank = rank;
      void* context = profiler_.open(info);
      IdentityPort port(profiler_, info.hash);
      const CollectiveEvent tensor = all_reduce_of(100000, 0x100000u * (1u + unsigned(rank)));
      for (int i = 0; i < 200; ++i) {
        const void* parent = nullptr;
        std::thread application([&] { parent = profiler_.start_collective(context, tensor); });
        application.join();
        start_parts(context, parent, tensor, cut_);
        identified += known(port, tensor, cut_);
      }
      profiler_.close(context);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(identified, 4 * 200 * calls_of(all_reduce_of(100000, 8), cut_).size());
  EXPECT_EQ(switched_off(), 0u);
}

}  // namespace
}  // namespace thinwire::plugin
