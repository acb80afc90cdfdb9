#include "base/config.h"

#include <gmock/gmock.h>

#include <set>

#include "base/config_table.h"
#include "base/nearest.h"
#include "tests/base/captured_log.h"

namespace thinwire {
namespace {

using ::testing::AllOf;
using testing::CapturedLog;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kNoFile = "/nonexistent/thinwire.conf";

Result<ParsedConfig> parse(const EnvironmentList& environment, const CapturedLog& captured) {
  return parse_config_sources(environment, captured.log(), kNoFile);
}

TEST(Config, EmptyEnvironment_GivesTheDefaultsSilently) {
  CapturedLog captured;
  const auto parsed = parse({{"PATH", "/bin"}, {"NCCL_DEBUG", "INFO"}}, captured);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().config.compress, "none");
  EXPECT_EQ(parsed.value().config.connect_timeout_s, 120);
  EXPECT_THAT(captured.warnings(), IsEmpty());
  for (const std::string& source : parsed.value().sources) EXPECT_EQ(source, "default");
}

TEST(Config, EveryKind_IsRead) {
  CapturedLog captured;
  const auto parsed = parse({{"THINWIRE_COMPRESS", "int8"},
                             {"THINWIRE_SCHEDULE", "direct"},
                             {"THINWIRE_PEER_TIMEOUT_S", "3"},
                             {"THINWIRE_TCP_CONGESTION", "reno"},
                             {"NCCL_SOCKET_IFNAME", "^docker,lo"},
                             {"NCCL_SOCKET_FAMILY", "AF_INET6"}},
                            captured);
  ASSERT_TRUE(parsed.ok());
  const Config& config = parsed.value().config;
  EXPECT_EQ(config.compress, "int8");
  EXPECT_EQ(config.schedule, ScheduleChoice::direct);
  EXPECT_EQ(config.peer_timeout_s, 3);
  EXPECT_EQ(config.tcp_congestion, "reno");
  EXPECT_EQ(config.socket_ifname, "^docker,lo");
  EXPECT_EQ(config.socket_family, AddressFamily::ipv6);
  EXPECT_THAT(captured.warnings(), IsEmpty());
}

TEST(Config, ByteSuffixes_MultiplyBy1024) {
  const Setting& setting = *find_setting("THINWIRE_TCP_WINDOW_BYTES");
  Config config;
  ASSERT_TRUE(assign(setting, "64K", config));
  EXPECT_EQ(config.tcp_window_bytes, 64 * 1024);
  ASSERT_TRUE(assign(setting, "2m", config));
  EXPECT_EQ(config.tcp_window_bytes, 2 * 1024 * 1024);
  ASSERT_TRUE(assign(setting, "1G", config));
  EXPECT_EQ(config.tcp_window_bytes, 1024 * 1024 * 1024);
}

TEST(Config, UnacceptableText_LeavesTheValueAlone) {
  const Setting& bytes = *find_setting("THINWIRE_TCP_WINDOW_BYTES");
  const Setting& seconds = *find_setting("THINWIRE_CONNECT_TIMEOUT_S");
  Config config;
  for (const char* text : {"64KiB", "K", "-64K", "1T", "0x10000", " 65536", "65535", "2G",
                           "9999999999999999999999", "9223372036854775807G"}) {
    EXPECT_FALSE(assign(bytes, text, config)) << text;
  }
  for (const char* text : {"0", "-1", "86401", "2K", "1.5", "ten"}) {
    EXPECT_FALSE(assign(seconds, text, config)) << text;
  }
  EXPECT_EQ(config.tcp_window_bytes, Config{}.tcp_window_bytes);
  EXPECT_EQ(config.connect_timeout_s, 120);
}

TEST(Config, InvalidChoice_FailsAndNamesVariableValueChoicesAndSource) {
  CapturedLog captured;
  const auto parsed = parse({{"THINWIRE_SCHEDULE", "star"}}, captured);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().code(), Code::invalid_config);
  EXPECT_THAT(captured.text(), AllOf(HasSubstr("THINWIRE_SCHEDULE=star"),
                                     HasSubstr("auto, ring, direct"), HasSubstr("environment")));
}

std::string refuse_b(std::string_view value) { return value == "b" ? "only a is accepted" : ""; }

TEST(Config, TextThatAnotherFolderChecks_IsRefusedWithItsComplaint) {
  constexpr TextCheck kChecks[] = {{.setting = "THINWIRE_COMPRESS", .complaint = refuse_b}};
  CapturedLog captured;
  EXPECT_TRUE(parse_config({{"THINWIRE_COMPRESS", "a"}}, captured.log(), kChecks).ok());
  EXPECT_TRUE(parse_config({{"THINWIRE_COMPRESS", ""}}, captured.log(), kChecks).ok());
  EXPECT_THAT(captured.warnings(), ::testing::IsEmpty());
  const auto refused = parse_config({{"THINWIRE_COMPRESS", "b"}}, captured.log(), kChecks);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::invalid_config);
  EXPECT_THAT(captured.text(),
              HasSubstr("THINWIRE_COMPRESS=b (environment) is invalid: only a is accepted"));
}

TEST(Config, NumberOutOfRange_FailsAndNamesTheRange) {
  CapturedLog captured;
  const auto parsed = parse({{"THINWIRE_WORKERS", "65"}}, captured);
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(captured.text(), AllOf(HasSubstr("THINWIRE_WORKERS=65"), HasSubstr("0 to 64")));
}

TEST(Config, SeveralInvalidValues_AreAllReported) {
  CapturedLog captured;
  EXPECT_FALSE(parse({{"THINWIRE_WORKERS", "x"}, {"THINWIRE_SCHEDULE", "star"}}, captured).ok());
  EXPECT_EQ(captured.warnings().size(), 2U);
}

TEST(Config, MisspeltName_WarnsWithTheNearestAndGoesOn) {
  CapturedLog captured;
  const auto parsed = parse({{"THINWIRE_COMPRES", "int8"}}, captured);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().config.compress, "none");
  EXPECT_THAT(captured.text(),
              AllOf(HasSubstr("THINWIRE_COMPRES "), HasSubstr("nearest known name is "
                                                              "THINWIRE_COMPRESS\n")));
}

TEST(Config, UnknownNameFarFromAll_WarnsWithoutAGuess) {
  CapturedLog captured;
  ASSERT_TRUE(parse({{"THINWIRE_FROBNICATION_LEVEL", "9"}}, captured).ok());
  EXPECT_EQ(captured.text(),
            "unknown setting THINWIRE_FROBNICATION_LEVEL (environment) is ignored\n");
}

TEST(Config, TinySocketBuffers_AreRefusedAndZeroIsAutomatic) {
  for (const char* text : {"1", "4096", "63K", "65535", "-1"}) {
    CapturedLog captured;
    EXPECT_FALSE(parse({{"THINWIRE_TCP_SOCKET_BUFFER_BYTES", text}}, captured).ok()) << text;
    EXPECT_THAT(captured.text(), HasSubstr("0, or 65536 to 1073741824 bytes"));
  }
  for (const char* text : {"0", "64K", "1G"}) {
    CapturedLog captured;
    EXPECT_TRUE(parse({{"THINWIRE_TCP_SOCKET_BUFFER_BYTES", text}}, captured).ok()) << text;
  }
}

TEST(Nearest, OnlyNearWords_AreFound) {
  const std::string_view words[] = {"info", "doctor", "config", "topo"};
  EXPECT_EQ(nearest("doctr", words), "doctor");
  EXPECT_EQ(nearest("INFO", words), "info");
  EXPECT_EQ(nearest("confg", words), "config");
  EXPECT_EQ(nearest("nosuch", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(100000, 'x'), words), "");
}

TEST(Config, InvalidValueOfNccl_IsIgnoredAsNcclDoes) {
  CapturedLog captured;
  const auto parsed = parse({{"NCCL_SOCKET_FAMILY", "ipv4"}}, captured);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().config.socket_family, AddressFamily::any);
  EXPECT_THAT(captured.text(), HasSubstr("NCCL_SOCKET_FAMILY=ipv4"));
}

TEST(Config, EmptyValue_MeansTheDefault) {
  CapturedLog captured;
  const auto parsed = parse({{"THINWIRE_COMPRESS", ""}, {"THINWIRE_WORKERS", ""}}, captured);
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(captured.warnings(), IsEmpty());
}

TEST(Config, WindowSmallerThanChunk_IsRefused) {
  CapturedLog captured;
  EXPECT_FALSE(
      parse({{"THINWIRE_TCP_WINDOW_BYTES", "64K"}, {"THINWIRE_TCP_CHUNK_BYTES", "128K"}}, captured)
          .ok());
  EXPECT_THAT(captured.text(), HasSubstr("THINWIRE_TCP_CHUNK_BYTES=131072"));
}

TEST(Config, AgreedSettings_ListTheMarkedOnesInTableOrder) {
  Config config;
  config.compress = "fp16";
  config.workers = 7;
  EXPECT_THAT(agreed_settings(config),
              ::testing::ElementsAre("THINWIRE_COMPRESS=fp16", "THINWIRE_COMPRESS_MIN_BYTES=16384",
                                     "THINWIRE_SCHEDULE=auto", "THINWIRE_GRID=auto",
                                     "THINWIRE_PIECE_BYTES=0", "THINWIRE_COMPRESS_CHECK=0",
                                     "THINWIRE_TRANSPORT=auto", "THINWIRE_SHM=auto"));
}

TEST(Config, Grid_IsNumbersWithAnXBetween) {
  const Setting& setting = *find_setting("THINWIRE_GRID");
  Config config;
  ASSERT_TRUE(assign(setting, "2x4x08", config));
  EXPECT_EQ(config.grid.sides, (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(value_text(setting, config), "2x4x8");
  for (const char* bad : {"4", "x4", "4x", "4xx4", "0x4", "-1x4", "4x4 ", "4*4", "axb", "70000x2",
                          "1x1x1x1x1x1x1x1x1", "Auto"}) {
    EXPECT_FALSE(assign(setting, bad, config)) << bad;
  }
  EXPECT_EQ(config.grid.sides.size(), 3U);
  ASSERT_TRUE(assign(setting, "auto", config));
  EXPECT_TRUE(config.grid.sides.empty());
}

TEST(ConfigTable, EveryDefault_IsAcceptedAndReadsBack) {
  for (const Setting& setting : kSettings) {
    Config config;
    const std::string text = value_text(setting, config);
    EXPECT_TRUE(assign(setting, text, config)) << setting.name;
    EXPECT_EQ(value_text(setting, config), text) << setting.name;
    EXPECT_FALSE(setting.help.empty()) << setting.name;
  }
}

TEST(ConfigTable, Names_AreUnique) {
  std::set<std::string_view> names;
  for (const Setting& setting : kSettings) EXPECT_TRUE(names.insert(setting.name).second);
}

TEST(Environment, OfThisProcess_HoldsWhatWasExported) {
  ASSERT_EQ(setenv("THINWIRE_TEST_MARK", "a=b", 1), 0);
  EXPECT_THAT(process_environment(),
              ::testing::Contains(::testing::Pair("THINWIRE_TEST_MARK", "a=b")));
  unsetenv("THINWIRE_TEST_MARK");
}

}  // namespace
}  // namespace thinwire
