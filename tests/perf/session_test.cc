// Sessions of several ranks, each in a thread of one process.
#include "perf/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "perf/frame.h"

namespace thinwire::perf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Runs `body` as each of `ranks` ranks; returns what each ended with ("" for a normal end).
std::vector<std::string> run_ranks_in_threads(int ranks, const std::function<void(Session&)>& body,
                                              double timeout_s = 60) {
  Socket listener = listen_on({"127.0.0.1", 0});
  const HostPort where = bound_to(listener);
  const int listener_fd = listener.release();
  std::vector<std::string> ends(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        Session session({rank, ranks, where, rank == 0 ? listener_fd : -1, timeout_s});
        body(session);
        session.barrier();
      } catch (const Failure& failure) {
        ends[static_cast<std::size_t>(rank)] = failure.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ends;
}

TEST(Session, AllGather_GivesEveryRankEverybodysText) {
  const auto ends = run_ranks_in_threads(4, [](Session& session) {
    for (int round = 0; round < 20; ++round) {
      const auto all =
          session.all_gather(std::string(static_cast<std::size_t>(session.rank()), 'x'));
      ASSERT_THAT(all, ElementsAre("", "x", "xx", "xxx"));
      session.barrier();
    }
  });
  EXPECT_THAT(ends, ElementsAre("", "", "", ""));
}

TEST(Session, LargeTexts_ArriveWhole) {
  const auto ends = run_ranks_in_threads(3, [](Session& session) {
    const auto all =
        session.all_gather(std::string(1 << 20, static_cast<char>('a' + session.rank())));
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[2], std::string(1 << 20, 'c'));
  });
  EXPECT_THAT(ends, ElementsAre("", "", ""));
}

TEST(Session, OneRankAlone_NeedsNobody) {
  Session session({0, 1, {"127.0.0.1", 0}, -1, 60});
  session.barrier();
  EXPECT_THAT(session.all_gather("me"), ElementsAre("me"));
  EXPECT_EQ(session.lost_peer(), std::nullopt);
}

TEST(Session, RankThatEnds_IsNamedToAllOthers) {
  const auto ends = run_ranks_in_threads(4, [](Session& session) {
    if (session.rank() == 2) throw Failure(ExitCode::runtime_error, "left");
    session.barrier();
  });
  EXPECT_EQ(ends[2], "left");
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(ends[static_cast<std::size_t>(rank)], HasSubstr("rank 2 is gone"));
  }
}

TEST(Session, AnnouncedFailure_ReachesEveryPollingRank) {
  const auto ends = run_ranks_in_threads(3, [](Session& session) {
    if (session.rank() == 1) {
      session.announce_failure("the network is down");
      throw Failure(ExitCode::runtime_error, "left");
    }
    std::optional<std::string> lost;
    while (!(lost = session.lost_peer())) std::this_thread::yield();
    throw Failure(ExitCode::runtime_error, *lost);
  });
  EXPECT_THAT(ends[0], HasSubstr("rank 1 failed: the network is down"));
  EXPECT_THAT(ends[2], HasSubstr("rank 1 failed: the network is down"));
}

TEST(Session, LostRoot_IsNoticed) {
  const auto ends = run_ranks_in_threads(3, [](Session& session) {
    if (session.is_root()) throw Failure(ExitCode::runtime_error, "left");
    session.barrier();
  });
  EXPECT_THAT(ends[1], HasSubstr("rank 0 is gone"));
  EXPECT_THAT(ends[2], HasSubstr("rank 0 is gone"));
}

TEST(Session, Agree_FailsEverywhereOrNowhere) {
  const auto ends = run_ranks_in_threads(3, [](Session& session) {
    session.agree([] {});
    try {
      session.agree([&] {
        if (session.rank() > 0) {
          throw Failure(ExitCode::no_device, "none at " + std::to_string(session.rank()));
        }
      });
      FAIL();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::no_device);
      EXPECT_EQ(failure.quiet(), session.rank() != 1);
      EXPECT_STREQ(failure.what(), "none at 1");
    }
  });
  EXPECT_THAT(ends, ElementsAre("", "", ""));
}

TEST(Session, MissingRank_IsNamedWhenTheTimeIsUp) {
  Socket listener = listen_on({"127.0.0.1", 0});
  const HostPort where = bound_to(listener);
  std::thread peer([&] {
    try {
      Session session({1, 3, where, -1, 30});
    } catch (const Failure&) {
    }
  });
  try {
    Session session({0, 3, where, listener.release(), 1});
    ADD_FAILURE();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("missing"));
    EXPECT_THAT(failure.what(), HasSubstr("2"));
  }
  peer.join();
}

TEST(Session, RanksOfAnotherSize_AreToldSo) {
  Socket listener = listen_on({"127.0.0.1", 0});
  const HostPort where = bound_to(listener);
  std::string told;
  std::thread other([&] {
    try {
      Session session({1, 7, where, -1, 60});
    } catch (const Failure& failure) {
      told = failure.what();
    }
    Session session({1, 2, where, -1, 60});
  });
  Session session({0, 2, where, listener.release(), 60});
  other.join();
  EXPECT_THAT(told, HasSubstr("rank 0 is of a run of 2, this is rank 1 of 7"));
}

TEST(Session, SecondProcessOfARank_IsToldSo) {
  Socket listener = listen_on({"127.0.0.1", 0});
  const HostPort where = bound_to(listener);
  std::atomic<bool> refused = false;
  std::string reason;
  const auto join = [&](int rank) {
    try {
      Session session({rank, 3, where, -1, 60});
    } catch (const Failure& failure) {
      reason = failure.what();
      refused = true;
    }
  };
  std::thread first([&] { join(1); });
  std::thread second([&] { join(1); });
  std::thread third([&] {
    while (!refused) std::this_thread::yield();
    join(2);
  });
  Session session({0, 3, where, listener.release(), 60});
  for (std::thread* thread : {&first, &second, &third}) thread->join();
  EXPECT_THAT(reason, HasSubstr("two processes have the same rank"));
}

TEST(Session, Strangers_AreDropped) {
  Socket listener = listen_on({"127.0.0.1", 0});
  const HostPort where = bound_to(listener);
  const Deadline soon = Deadline::after_seconds(30);
  const Socket silent = connect_to(where, soon);
  const Socket garbage = connect_to(where, soon);
  ASSERT_GT(try_send(garbage, "GET / HTTP/1.0\r\n\r\n", 18), 0);
  const Socket wrong_run = connect_to(where, soon);
  ASSERT_TRUE(send_frame(wrong_run, FrameKind::hello, "1/7", soon));
  std::thread peer([&] { Session session({1, 2, where, -1, 60}); });
  Session session({0, 2, where, listener.release(), 60});
  peer.join();
}

}  // namespace
}  // namespace thinwire::perf
