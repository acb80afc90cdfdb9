#include "compression/policy.h"

#include <gtest/gtest.h>

namespace thinwire::compression {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

Policy policy(std::string_view text) {
  std::string complaint;
  auto parsed = Policy::parse(text, complaint);
  EXPECT_TRUE(parsed.ok()) << complaint;
  return parsed.ok() ? parsed.value() : Policy();
}

std::string complaint_about(std::string_view text) {
  std::string complaint;
  const auto parsed = Policy::parse(text, complaint);
  EXPECT_FALSE(parsed.ok()) << text;
  return complaint;
}

CodecId chosen(const Policy& policy, std::size_t bytes, DataType type = DataType::float32,
               Level level = Level::rack) {
  const auto rule = policy.find(type, bytes, level);
  return rule ? policy.rules()[*rule].codec.id : CodecId::none;
}

TEST(Policy, FirstMatch_Wins) {
  const Policy by_size = policy("topk:0.01@>=4M,int8@>=256K,none");
  EXPECT_EQ(chosen(by_size, 4 * kMiB), CodecId::topk);
  EXPECT_EQ(chosen(by_size, 4 * kMiB - 1), CodecId::int8);
  EXPECT_EQ(chosen(by_size, 256 * kKiB), CodecId::int8);
  EXPECT_EQ(chosen(by_size, 256 * kKiB - 1), CodecId::none);
  EXPECT_TRUE(by_size.compresses());
  EXPECT_TRUE(by_size.uses(CodecId::topk));
}

TEST(Policy, NoRuleThatMatches_IsExact) {
  EXPECT_EQ(chosen(policy("int8@>=1M"), 100), CodecId::none);
  EXPECT_EQ(chosen(Policy(), 1 << 30), CodecId::none);
  EXPECT_FALSE(policy("none").compresses());
}

TEST(Policy, NoneAsAnEarlierRule_KeepsExact) {
  const Policy exact_half = policy("none@float16,int8");
  EXPECT_EQ(chosen(exact_half, kMiB, DataType::float16), CodecId::none);
  EXPECT_EQ(chosen(exact_half, kMiB, DataType::bfloat16), CodecId::int8);
}

TEST(Policy, Levels_AreToldApart) {
  const Policy by_level = policy("int4@site,int8@rack");
  EXPECT_EQ(chosen(by_level, kMiB, DataType::float32, Level::host), CodecId::none);
  EXPECT_EQ(chosen(by_level, kMiB, DataType::float32, Level::rack), CodecId::int8);
  EXPECT_EQ(chosen(by_level, kMiB, DataType::float32, Level::site), CodecId::int4);
}

TEST(Policy, SeveralConditions_MustAllHold) {
  const Policy narrow = policy("int8@>=1K&<1M&float32&rack");
  EXPECT_EQ(chosen(narrow, kKiB), CodecId::int8);
  EXPECT_EQ(chosen(narrow, kMiB), CodecId::none);
  EXPECT_EQ(chosen(narrow, kKiB, DataType::float16), CodecId::none);
  EXPECT_EQ(chosen(narrow, kKiB, DataType::float32, Level::site), CodecId::none);
}

TEST(Policy, RulesThatCanNeverDecide_AreFound) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(idle_rules("topk:0.01@>=4M,int8@>=256K,none"), Texts());
  EXPECT_EQ(idle_rules("int4@site,int8@rack"), Texts());
  EXPECT_EQ(idle_rules("int8,fp16"), Texts({"fp16"}));
  EXPECT_EQ(idle_rules("int8@>=1K,fp16@>=1M,int4@>=1M&rack"),
            Texts({"fp16@>=1M", "int4@>=1M&rack"}));
  // Two together leave nothing over, one alone does.
  EXPECT_EQ(idle_rules("int8@<1M,fp16@>=1M,bf16@>=4K"), Texts({"bf16@>=4K"}));
  EXPECT_EQ(idle_rules("int8@<1M,fp16@>=2M,bf16@>=4K"), Texts());
  EXPECT_EQ(idle_rules("none@float32,none@float16,int8@rack,int4@bfloat16&rack"),
            Texts({"int4@bfloat16&rack"}));
  EXPECT_EQ(idle_rules("int8@host,int8@rack,int8@site,fp16"), Texts({"fp16"}));
  EXPECT_EQ(idle_rules("none@<4K,int8@float16,int4@<2K&float16"), Texts({"int4@<2K&float16"}));
}

TEST(Policy, BadRules_AreNamedWithWhatIsAccepted) {
  EXPECT_NE(complaint_about("int9").find("\"int9\""), std::string::npos);
  EXPECT_NE(complaint_about("int9").find("fp8-e4m3"), std::string::npos);
  EXPECT_NE(complaint_about("int8@>=1M,topk@>=2M").find("\"topk@>=2M\""), std::string::npos);
  EXPECT_NE(complaint_about("int8@>=1X").find("\">=1X\""), std::string::npos);
  EXPECT_NE(complaint_about("int8@planet").find("rack"), std::string::npos);
  EXPECT_NE(complaint_about("int8@>=2M&<1M").find("no size"), std::string::npos);
  for (const char* text : {"", ",", "int8,", "int8@", "int8@&", "int8@>=", "int8@>=-1", "@>=1M",
                           "int8@>=99999999999999999999", "int8@>=18014398509481984K", "int8 "}) {
    EXPECT_FALSE(complaint_about(text).empty()) << text;
  }
}

}  // namespace
}  // namespace thinwire::compression
