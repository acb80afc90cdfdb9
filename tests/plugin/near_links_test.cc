// Links within a host that replace those of the network: N ranks in one process, a thread each,
// over two fabrics of the memory transport.
#include "plugin/near_links.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "plugin/agreement.h"
#include "plugin/joint_endpoint.h"
#include "transports/memory/memory_transport.h"

namespace thinwire::plugin {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

struct Outcome {
  std::string failures;
  Verdict verdict;
  std::uint64_t near_messages = 0;  // this rank's, for the agreement that follows
};

class NearLinksTest : public ::testing::Test {
 protected:
  // All ranks are linked with all, agree, and say how that went. `without` can share no memory,
  // `elsewhere` is in another namespace.
  std::vector<Outcome> run(int ranks, int without = -1, int elsewhere = -1) {
    std::vector<std::unique_ptr<JointEndpoint>> endpoints;
    std::vector<std::unique_ptr<transports::Listener>> listeners;
    std::vector<transports::Handle> handles;
    for (int rank = 0; rank < ranks; ++rank) {
      endpoints.push_back(std::make_unique<JointEndpoint>(far_.open(rank).value()));
      if (rank != without) endpoints.back()->set_near(near_.open(rank).value());
      listeners.push_back(endpoints.back()->listen().value());
      handles.push_back(listeners.back()->handle());
    }
    std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        const auto i = static_cast<std::size_t>(rank);
        GroupLinks links(*endpoints[i], *listeners[i], handles, rank, clock_, log_);
        outcomes[i] = connect(links, *endpoints[i], rank == elsewhere ? 8 : 7);
      });
    }
    for (auto& thread : threads) thread.join();
    return outcomes;
  }

  Outcome connect(GroupLinks& links, JointEndpoint& endpoint, std::uint64_t reach) {
    Outcome outcome;
    std::vector<int> peers(static_cast<std::size_t>(links.ranks()));
    std::iota(peers.begin(), peers.end(), 0);
    std::erase(peers, links.rank());
    outcome.failures = links.establish(peers, in_seconds(60));
    NearLinks near(links, endpoint.near(), reach, peers, clock_, log_);
    outcome.failures += near.establish(in_seconds(60));
    const auto before = messages(endpoint);
    Ballot ballot;
    ballot.settings["A=1\n"] = {links.rank()};
    outcome.verdict = agree(links, 0, ballot, {in_seconds(60), in_seconds(60)});
    outcome.near_messages = messages(endpoint) - before;
    return outcome;
  }

  static constexpr int kOdd = 2;
  static void expect_alone(const std::vector<Outcome>& outcomes) {
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.failures, "");
      EXPECT_EQ(outcome.verdict.code, Code::ok) << outcome.verdict.text;
    }
    EXPECT_EQ(outcomes[kOdd].near_messages, 0u);
    EXPECT_GE(outcomes[1].near_messages, 1u);
  }

  static std::uint64_t messages(JointEndpoint& endpoint) {
    return endpoint.near() == nullptr ? 0 : endpoint.near()->counters().messages_sent;
  }
  std::int64_t in_seconds(std::int64_t seconds) const {
    return clock_.now_ns() + seconds * kSecondNs;
  }

  SteadyClock clock_;
  Log log_{[](LogLevel, const char*, int, const char*) {}};
  transports::memory::MemoryFabric far_fabric_{{.devices = 8}};
  transports::memory::MemoryFabric near_fabric_{{.devices = 8}};
  transports::memory::MemoryTransport far_{far_fabric_};
  transports::memory::MemoryTransport near_{near_fabric_};
};

TEST_F(NearLinksTest, AllShareMemory_WhatFollowsTravelsThere) {
  for (const Outcome& outcome : run(5)) {
    EXPECT_EQ(outcome.failures, "");
    EXPECT_EQ(outcome.verdict.code, Code::ok);
    EXPECT_GE(outcome.near_messages, 1u);
  }
}

TEST_F(NearLinksTest, OneSharesNone_ItKeepsTheNetwork_TheOthersDoNot) {
  expect_alone(run(4, kOdd));
}

TEST_F(NearLinksTest, OneIsElsewhere_ItKeepsTheNetwork_TheOthersDoNot) {
  expect_alone(run(4, -1, kOdd));
}

}  // namespace
}  // namespace thinwire::plugin
