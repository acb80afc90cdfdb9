// The cost model, its constants as text, and what auto makes of both.
#include "collectives/cost_model.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/candidates.h"
#include "collectives/selection.h"

namespace thinwire::collectives {
namespace {

// Nothing but the link takes time.
CostConstants plain_costs() {
  CostConstants costs = built_in_costs();
  costs.links = {{{10, 10}, {10, 1}, {10, 1}}};
  costs.fan_in = 1;
  costs.message_us = 1e-6;
  costs.copy_gbytes_per_s = costs.reduce_gbytes_per_s = 1e6;
  return costs;
}

Task of_bytes(double bytes) {
  Task task;
  task.bytes = bytes;
  return task;
}

Layout hosts_of(int hosts, int ranks_each) {
  std::vector<std::uint64_t> ids;
  for (int rank = 0; rank < hosts * ranks_each; ++rank) {
    ids.push_back(static_cast<std::uint64_t>(rank / ranks_each));
  }
  return make_layout(ids);
}

TEST(CostModel, Ring_OneTile_TakesItsSteps) {
  const Shape shape = shape_of(flat_layout(8));
  const Prediction p = predict(ScheduleKind::ring, shape, of_bytes(8 * 65536), plain_costs());
  EXPECT_EQ(p.steps, 14);
  EXPECT_NEAR(p.seconds, 14 * (10e-6 + 65536e-9), 1e-6);
}

TEST(CostModel, LongVectors_EverySchedule_AreBoundedByTheLink) {
  const Shape shape = shape_of(flat_layout(16));
  const double bytes = 1e9;
  for (const ScheduleKind kind :
       {ScheduleKind::ring, ScheduleKind::direct, ScheduleKind::grid, ScheduleKind::tree}) {
    const Prediction p = predict(kind, shape, of_bytes(bytes), plain_costs());
    EXPECT_NEAR(p.link_s, 2 * 15.0 / 16 * bytes * 1e-9, 0.01 * p.link_s) << name_of(kind);
    EXPECT_GE(p.seconds, p.link_s) << name_of(kind);
    EXPECT_LE(p.seconds, 1.05 * p.link_s) << name_of(kind);
  }
}

TEST(CostModel, Hierarchical_FourRanksAHost_SendsAsMuchAsOneRankAHost) {
  const double bytes = 1e9;
  const Prediction p = predict(ScheduleKind::hierarchical_ring, shape_of(hosts_of(4, 4)),
                               of_bytes(bytes), plain_costs());
  EXPECT_NEAR(p.link_s, 2 * 3.0 / 4 * bytes * 1e-9, 0.01 * p.link_s);
}

TEST(CostModel, ShortVectors_FewSteps_AreFaster) {
  const Shape shape = shape_of(flat_layout(64));
  const auto seconds = [&](ScheduleKind kind) {
    return predict(kind, shape, of_bytes(1024), built_in_costs()).seconds;
  };
  EXPECT_LT(seconds(ScheduleKind::tree), seconds(ScheduleKind::grid));
  EXPECT_LT(seconds(ScheduleKind::grid), seconds(ScheduleKind::ring));
}

TEST(CostModel, Compressed_TakesAQuarterOfTheLink) {
  Task task = of_bytes(1e9);
  const Shape shape = shape_of(flat_layout(8));
  const double exact = predict(ScheduleKind::direct, shape, task, plain_costs()).link_s;
  task.arithmetic = Arithmetic::lossy_native;
  for (auto& codec : task.codecs) codec.id = compression::CodecId::int8;
  const double lossy = predict(ScheduleKind::direct, shape, task, plain_costs()).link_s;
  EXPECT_NEAR(lossy, exact * 1.011 / 4, 0.001 * exact);
}

TEST(Candidates, RoundedSums_NeverTakeARing) {
  for (const int hosts : {2, 8, 64, 65, 300}) {
    for (const int each : {1, 2}) {
      const Layout layout = hosts_of(hosts, each);
      for (const Arithmetic arithmetic :
           {Arithmetic::widened, Arithmetic::lossy_native, Arithmetic::lossy_widened}) {
        for (std::size_t bytes = kLeastSizeClass; bytes <= kLargestSizeClass; bytes *= 2) {
          const ScheduleKind best = best_of(candidates({}, layout, arithmetic, bytes)).kind;
          EXPECT_NE(best, ScheduleKind::ring);
          EXPECT_NE(best, ScheduleKind::hierarchical_ring);
          if (layout.ranks() > kMaxDirectRanks) continue;
          EXPECT_NE(best, ScheduleKind::grid);
          EXPECT_NE(best, ScheduleKind::tree);
        }
      }
    }
  }
}

TEST(Candidates, Hosts_WithSeveralRanks_AreCrossedOnce) {
  const double bytes = 1 << 26;
  const Candidate best =
      best_of(candidates({}, hosts_of(8, 8), Arithmetic::native, static_cast<std::size_t>(bytes)));
  const double once_s = 2 * 7.0 / 8 * bytes / (built_in_costs().links[1].gbytes_per_s * 1e9);
  // A ring in the order of hosts sends one rank's traffic from each: an eighth more at the most.
  EXPECT_LE(best.prediction.link_s, 1.13 * once_s) << name_of(best.kind);
}

TEST(Candidates, Constants_Decide) {
  EngineOptions options;
  const auto best = [&] {
    return best_of(candidates(options, flat_layout(16), Arithmetic::native, 1 << 20)).kind;
  };
  options.costs.links[1] = {1000, 1000};  // steps cost all
  EXPECT_EQ(best(), ScheduleKind::direct);
  options.costs.links[1] = {1e-6, 1e-3};  // bytes cost all, and more where senders meet
  EXPECT_NE(best(), ScheduleKind::direct);
}

TEST(Choices, EverySizeAndArithmetic_IsWhatIsChosenAnew) {
  for (const auto& [hosts, each] : {std::pair(1, 1), {2, 1}, {3, 2}, {16, 1}, {65, 1}, {8, 8}}) {
    const Layout layout = hosts_of(hosts, each);
    EngineOptions options;
    options.piece_bytes = 0;
    const Choices choices(options, layout);
    for (int a = 0; a < kArithmeticCount; ++a) {
      const auto arithmetic = static_cast<Arithmetic>(a);
      for (std::size_t bytes = 1; bytes < std::size_t{1} << 38; bytes = bytes * 3 + 1) {
        const Choice& one = choices.of(arithmetic, bytes);
        const Choice anew = choose(options, layout, arithmetic, bytes);
        EXPECT_EQ(one.schedule, anew.schedule) << bytes;
        EXPECT_EQ(one.piece_bytes, anew.piece_bytes) << bytes;
        EXPECT_TRUE(choices.include(one.schedule, arithmetic));
        EXPECT_LE(one.piece_bytes, choices.longest_piece(one.schedule, arithmetic));
      }
    }
  }
}

// Longer vectors never take less time, and what is taken is never slower than a ring.
TEST(Candidates, Sizes_UpTo128Ranks_AreMonotone) {
  for (int ranks = 2; ranks <= 128; ++ranks) {
    const Layout layout = flat_layout(ranks);
    for (const Arithmetic arithmetic : {Arithmetic::native, Arithmetic::lossy_native}) {
      double before_s = 0;
      for (std::size_t bytes = kLeastSizeClass; bytes <= kLargestSizeClass; bytes *= 2) {
        const Candidates all = candidates({}, layout, arithmetic, bytes);
        const Candidate& best = best_of(all);
        EXPECT_STREQ(best.refused, "");
        EXPECT_GE(1.03 * best.prediction.seconds, before_s) << ranks << " ranks, " << bytes;
        EXPECT_LE(best.prediction.steps, 2 * (ranks - 1));
        if (arithmetic == Arithmetic::native) {
          EXPECT_LE(best.prediction.seconds, 1.02 * all[0].prediction.seconds);
        }
        before_s = best.prediction.seconds;
      }
    }
  }
}

TEST(Candidates, FixedPieces_AreKept) {
  EngineOptions options;
  options.piece_bytes = 4096;
  for (const Candidate& one : candidates(options, flat_layout(8), Arithmetic::native, 1 << 20)) {
    EXPECT_EQ(one.piece_bytes, 4096u);
  }
}

TEST(Candidates, TopK_KeepsItsPieces) {
  EngineOptions options;
  options.piece_bytes = 0;
  options.policy =
      compression::Policy(compression::CodecSpec{.id = compression::CodecId::topk, .ratio = 0.01f});
  for (std::size_t bytes = kLeastSizeClass; bytes <= kLargestSizeClass; bytes *= 2) {
    for (const Candidate& one :
         candidates(options, flat_layout(16), Arithmetic::lossy_native, bytes)) {
      EXPECT_EQ(one.piece_bytes, kPieceBytes);
    }
  }
}

TEST(SizeClass, AnySize_IsTheNextPowerOfTwo) {
  EXPECT_EQ(size_class(0), kLeastSizeClass);
  EXPECT_EQ(size_class(257), 512u);
  EXPECT_EQ(size_class(4096), 4096u);
  EXPECT_EQ(size_class(std::size_t{1} << 40), kLargestSizeClass);
}

TEST(CostText, Written_ReadsBackTheSame) {
  CostConstants costs = built_in_costs();
  costs.links[1] = {12.345678901, 0.1};
  std::string complaint;
  const auto read = parse_costs(costs_text(costs), complaint);
  ASSERT_TRUE(read.ok()) << complaint;
  EXPECT_EQ(costs_text(read.value()), costs_text(costs));
  EXPECT_EQ(costs_hash(read.value()), costs_hash(costs));
  EXPECT_NE(costs_hash(costs), costs_hash(built_in_costs()));
}

TEST(CostText, Empty_IsBuiltIn) {
  std::string complaint;
  const auto read = parse_costs("# nothing\n\n  \n", complaint);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(costs_hash(read.value()), costs_hash(built_in_costs()));
}

struct Malformed {
  const char* text;
  const char* complaint;
};
class CostTextMalformed : public testing::TestWithParam<Malformed> {};
INSTANTIATE_TEST_SUITE_P(
    Lines, CostTextMalformed,
    testing::Values(
        Malformed{"rack.latency_us=5\nrack.gbytes_per_s\n", "2: no NAME=value"},
        Malformed{"fan_in=1\n\nfan_in=1\n", "3: fan_in is named twice"},
        Malformed{"rack.latency=5", "1: unknown name rack.latency"},
        Malformed{"message_us=x", "1: message_us=x: a number from 1e-6 to 1e6 is needed"},
        Malformed{"message_us=-1", "1: message_us=-1: a number from 1e-6 to 1e6 is needed"},
        Malformed{"fan_in=1 2", "1: fan_in=1 2: a number from 1e-6 to 1e6 is needed"},
        Malformed{"fan_in=nan", "1: fan_in=nan: a number from 1e-6 to 1e6 is needed"},
        Malformed{"fan_in=", "1: fan_in=: a number from 1e-6 to 1e6 is needed"}));

TEST_P(CostTextMalformed, Line_IsRefusedWithItsNumber) {
  std::string complaint;
  const auto read = parse_costs(GetParam().text, complaint);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::invalid_config);
  EXPECT_EQ(complaint, GetParam().complaint);
}

}  // namespace
}  // namespace thinwire::collectives
