#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plugin/agreement.h"

namespace thinwire::plugin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Ballot ballot_of(int rank, const std::string& settings) {
  Ballot ballot;
  ballot.settings[settings] = {rank};
  return ballot;
}

TEST(Ballot_Encode, Decode_IsIdentity) {
  Ballot ballot = ballot_of(3, "A=1\nB=with:colon 7:\n");
  ballot.merge(ballot_of(1, "A=2\n"));
  ballot.failures[5] = "cannot reach rank 2";
  ballot.places = {{1, {0xFEDCBA9876543210u, 3}}, {4095, {7, 0}}};
  Ballot back;
  ASSERT_TRUE(Ballot::decode(ballot.encode(), &back));
  EXPECT_EQ(back.settings, ballot.settings);
  EXPECT_EQ(back.failures, ballot.failures);
  EXPECT_EQ(back.places, ballot.places);
}

TEST(Ballot_DecodeEveryTruncation_Refused, NothingElse) {
  Ballot ballot = ballot_of(3, "A=1\n");
  ballot.failures[0] = "x";
  ballot.places[2] = {9, 1};
  const std::string bytes = ballot.encode();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    Ballot out;
    EXPECT_FALSE(Ballot::decode(bytes.substr(0, length), &out)) << length;
  }
  Ballot out;
  EXPECT_FALSE(Ballot::decode(bytes + "1:x", &out));
  EXPECT_FALSE(Ballot::decode("99999999999999999999:x", &out));
}

TEST(Ballot_ManyVariants_StaysBounded, ForThousandsOfRanks) {
  Ballot all;
  for (int rank = 0; rank < 4096; ++rank) {
    Ballot one = ballot_of(rank, "A=" + std::to_string(rank % 100) + std::string(300, 'x') + "\n");
    one.failures[rank] = std::string(2000, 'y');
    one.places[rank] = {~std::uint64_t{0}, 1};
    all.merge(one);
  }
  EXPECT_LT(all.encode().size(), GroupLinks::kMaxMessageBytes);
}

TEST(Judge_EqualSettings_Agrees, AllRanks) {
  Ballot all;
  for (int rank = 0; rank < 5; ++rank) all.merge(ballot_of(rank, "A=1\n"));
  EXPECT_EQ(judge(all).code, Code::ok);
}

TEST(Judge_DifferentSetting_NamesKeyValuesAndRanks, OnlyTheDifferentKey) {
  Ballot all;
  for (const int rank : {0, 2, 3}) all.merge(ballot_of(rank, "SAME=1\nTHINWIRE_COMPRESS=none\n"));
  all.merge(ballot_of(1, "SAME=1\nTHINWIRE_COMPRESS=int8\n"));
  const Verdict verdict = judge(all);
  EXPECT_EQ(verdict.code, Code::invalid_config);
  EXPECT_THAT(verdict.text, HasSubstr("THINWIRE_COMPRESS differs"));
  EXPECT_THAT(verdict.text, HasSubstr("'int8' on rank 1"));
  EXPECT_THAT(verdict.text, HasSubstr("'none' on ranks 0,2,3"));
  EXPECT_THAT(verdict.text, Not(HasSubstr("SAME")));
}

TEST(Judge_Failure_NamesRankAndReason, AsPeerLost) {
  Ballot all = ballot_of(0, "A=1\n");
  all.failures[2] = "cannot reach rank 1";
  const Verdict verdict = judge(all);
  EXPECT_EQ(verdict.code, Code::peer_lost);
  EXPECT_THAT(verdict.text, HasSubstr("rank 2 says: cannot reach rank 1"));
}

TEST(Tree_EverySize_ReachesEveryRankOnce, ParentsAndChildrenAgree) {
  for (int ranks = 1; ranks <= 130; ++ranks) {
    std::set<int> reached{0};
    for (int rank = 0; rank < ranks; ++rank) {
      for (const int child : children_of(rank, ranks)) {
        EXPECT_EQ(parent_of(child), rank);
        EXPECT_TRUE(reached.insert(child).second);
      }
    }
    EXPECT_EQ(reached.size(), static_cast<std::size_t>(ranks));
  }
}

}  // namespace
}  // namespace thinwire::plugin
