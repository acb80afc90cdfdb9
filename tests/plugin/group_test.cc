// Groups being connected: N ranks in one process, a thread each, over the memory transport.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <thread>

#include "plugin/agreement.h"
#include "plugin/group_links.h"
#include "transports/memory/memory_transport.h"

namespace thinwire::plugin {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;

struct Rank {
  std::unique_ptr<transports::Endpoint> endpoint;
  std::unique_ptr<transports::Listener> listener;
};

class GroupTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ranks_.resize(static_cast<std::size_t>(GetParam()));
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].endpoint = transport_.open(static_cast<int>(i)).value();
      ranks_[i].listener = ranks_[i].endpoint->listen().value();
      handles_.push_back(ranks_[i].listener->handle());
    }
  }

  // Runs `vote` as every rank but those in `absent`; their verdicts, in rank order.
  std::vector<Verdict> run(const std::function<Verdict(GroupLinks&)>& vote,
                           const std::vector<int>& absent = {}) {
    std::vector<Verdict> verdicts(ranks_.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < GetParam(); ++rank) {
      if (std::find(absent.begin(), absent.end(), rank) != absent.end()) continue;
      threads.emplace_back([&, rank] {
        const auto i = static_cast<std::size_t>(rank);
        GroupLinks links(*ranks_[i].endpoint, *ranks_[i].listener, handles_, rank, clock_, log_);
        verdicts[i] = vote(links);
      });
    }
    for (auto& thread : threads) thread.join();
    return verdicts;
  }

  std::int64_t in_seconds(std::int64_t seconds) const {
    return clock_.now_ns() + seconds * kSecondNs;
  }

  SteadyClock clock_;
  Log log_{[](LogLevel, const char*, int, const char*) {}};
  transports::memory::MemoryFabric fabric_{{.devices = 64}};
  transports::memory::MemoryTransport transport_{fabric_};
  std::vector<Rank> ranks_;
  std::vector<transports::Handle> handles_;
};

Ballot mine(int rank, const std::string& settings) {
  Ballot ballot;
  ballot.settings[settings] = {rank};
  return ballot;
}

TEST_P(GroupTest, EqualSettings_EveryRankAgrees_OverTheTree) {
  const auto verdicts = run([&](GroupLinks& links) {
    const std::string failures =
        links.establish(tree_peers(links.rank(), links.ranks()), in_seconds(60));
    EXPECT_EQ(failures, "");
    return agree(links, 0, mine(links.rank(), "A=1\n"), {in_seconds(60), in_seconds(60)});
  });
  for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.code, Code::ok) << verdict.text;
}

Whereabouts place_of(int rank) {
  return {static_cast<std::uint64_t>(rank % 3) << 60 | 5, static_cast<std::uint32_t>(rank % 2)};
}

TEST_P(GroupTest, Places_AreKnownToEveryRankInRankOrder) {
  const auto verdicts = run([&](GroupLinks& links) {
    (void)links.establish(tree_peers(links.rank(), links.ranks()), in_seconds(60));
    Ballot ballot = mine(links.rank(), "A=1\n");
    ballot.places[links.rank()] = place_of(links.rank());
    return agree(links, 0, ballot, {in_seconds(60), in_seconds(60)});
  });
  for (const Verdict& verdict : verdicts) {
    ASSERT_EQ(verdict.places.size(), verdicts.size());
    for (std::size_t rank = 0; rank < verdicts.size(); ++rank) {
      EXPECT_EQ(verdict.places[rank], place_of(static_cast<int>(rank)));
    }
  }
}

TEST_P(GroupTest, OneDifferentSetting_EveryRankRefuses_AndNamesIt) {
  if (GetParam() < 2) GTEST_SKIP() << "one rank cannot differ";
  const int odd = GetParam() - 1;
  const auto verdicts = run([&](GroupLinks& links) {
    (void)links.establish(tree_peers(links.rank(), links.ranks()), in_seconds(60));
    const char* settings = links.rank() == odd ? "A=2\n" : "A=1\n";
    return agree(links, 0, mine(links.rank(), settings), {in_seconds(60), in_seconds(60)});
  });
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.code, Code::invalid_config);
    EXPECT_THAT(verdict.text, HasSubstr("A differs"));
    EXPECT_THAT(verdict.text, HasSubstr("'2' on rank " + std::to_string(odd)));
  }
}

TEST_P(GroupTest, MissingRank_EveryOtherRefuses_AndSomeoneNamesIt) {
  if (GetParam() < 2) GTEST_SKIP() << "nobody is left";
  const int missing = GetParam() / 2;
  const auto verdicts = run(
      [&](GroupLinks& links) {
        const std::int64_t links_by = clock_.now_ns() + kSecondNs / 2;
        Ballot ballot = mine(links.rank(), "A=1\n");
        const std::string failures =
            links.establish(tree_peers(links.rank(), links.ranks()), links_by);
        if (!failures.empty()) ballot.failures[links.rank()] = "cannot reach " + failures;
        return agree(links, 0, ballot, {links_by + kSecondNs, links_by + 2 * kSecondNs});
      },
      {missing});
  for (int rank = 0; rank < GetParam(); ++rank) {
    if (rank == missing) continue;
    const Verdict& verdict = verdicts[static_cast<std::size_t>(rank)];
    EXPECT_EQ(verdict.code, Code::peer_lost) << rank;
    EXPECT_THAT(verdict.text, HasSubstr("rank ")) << rank;
  }
}

TEST_P(GroupTest, FullMesh_EstablishesEveryLink_InAnyOrder) {
  run([&](GroupLinks& links) {
    std::vector<int> peers;
    for (int peer = 0; peer < links.ranks(); ++peer) {
      if (peer != links.rank()) peers.push_back(peer);
    }
    EXPECT_EQ(links.establish(peers, in_seconds(60)), "");
    for (const int peer : peers) EXPECT_TRUE(links.linked(peer));
    // Nobody leaves before everybody is done.
    return agree(links, 0, mine(links.rank(), ""), {in_seconds(60), in_seconds(60)});
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupTest, ::testing::Values(1, 2, 3, 4, 7, 17),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace thinwire::plugin
