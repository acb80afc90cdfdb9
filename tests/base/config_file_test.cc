#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/config_table.h"
#include "tests/base/captured_log.h"

namespace thinwire {
namespace {

using ::testing::AllOf;
using testing::CapturedLog;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ConfigFile : public ::testing::Test {
 protected:
  ConfigFile() { std::filesystem::create_directory(folder_); }
  ~ConfigFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  CapturedLog captured_;

 private:
  std::string folder_ = ::testing::TempDir() + "thinwire_config_" + std::to_string(getpid());
};

std::string source_of(const ParsedConfig& parsed, std::string_view name) {
  return parsed.sources[static_cast<std::size_t>(find_setting(name) - kSettings.data())];
}

TEST_F(ConfigFile, Sources_OverrideInOrder) {
  const std::string system = write("system.conf",
                                   "THINWIRE_WORKERS=1\nTHINWIRE_TCP_STREAMS=1\n"
                                   "THINWIRE_HEARTBEAT_S=1\n");
  const std::string own = write("own.conf", "THINWIRE_WORKERS=2\nTHINWIRE_TCP_STREAMS=2\n");
  const auto parsed = parse_config_sources({{"THINWIRE_WORKERS", "3"}, {"THINWIRE_CONF", own}},
                                           captured_.log(), system);
  ASSERT_TRUE(parsed.ok()) << captured_.text();
  EXPECT_EQ(parsed.value().config.workers, 3);
  EXPECT_EQ(parsed.value().config.tcp_streams, 2);
  EXPECT_EQ(parsed.value().config.heartbeat_s, 1);
  EXPECT_EQ(source_of(parsed.value(), "THINWIRE_WORKERS"), "environment");
  EXPECT_EQ(source_of(parsed.value(), "THINWIRE_TCP_STREAMS"), own + ":2");
  EXPECT_EQ(source_of(parsed.value(), "THINWIRE_HEARTBEAT_S"), system + ":3");
  EXPECT_EQ(source_of(parsed.value(), "THINWIRE_COMPRESS"), "default");
}

TEST_F(ConfigFile, CommentsBlanksAndSpaces_AreTolerated) {
  const std::string system = write(
      "system.conf", "# all\n\n  THINWIRE_COMPRESS = fp16  # half\r\n\t# more\nTHINWIRE_WORKERS=1");
  const auto parsed = parse_config_sources({}, captured_.log(), system);
  ASSERT_TRUE(parsed.ok()) << captured_.text();
  EXPECT_EQ(parsed.value().config.compress, "fp16");
  EXPECT_EQ(parsed.value().config.workers, 1);
  EXPECT_THAT(captured_.warnings(), IsEmpty());
}

TEST_F(ConfigFile, InvalidValue_NamesFileAndLine) {
  const std::string system = write("system.conf", "\nTHINWIRE_SCHEDULE=star\n");
  const auto parsed = parse_config_sources({}, captured_.log(), system);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().code(), Code::invalid_config);
  EXPECT_THAT(captured_.text(), AllOf(HasSubstr("THINWIRE_SCHEDULE=star"), HasSubstr(system + ":2"),
                                      HasSubstr("direct")));
}

TEST_F(ConfigFile, MalformedLine_IsAnError) {
  const std::string system = write("system.conf", "THINWIRE_COMPRESS int8\n");
  EXPECT_FALSE(parse_config_sources({}, captured_.log(), system).ok());
  EXPECT_THAT(captured_.text(), HasSubstr(system + ":1"));
}

TEST_F(ConfigFile, UnknownKey_WarnsWithTheNearest) {
  const std::string system = write("system.conf", "THINWIRE_WORKER=4\n");
  EXPECT_TRUE(parse_config_sources({}, captured_.log(), system).ok());
  EXPECT_THAT(captured_.text(), AllOf(HasSubstr(system + ":1"), HasSubstr("THINWIRE_WORKERS")));
}

// Every line that looks like a setting to its author and is none says so, with file and line.
TEST_F(ConfigFile, LineThatIsNoAssignment_IsAnErrorThatSaysWhy) {
  const std::pair<const char*, const char*> cases[] = {
      {"=bar", "no name before the ="},
      {"  = bar", "no name before the ="},
      {"export THINWIRE_WORKERS=1", "leave out the word export"},
      {"export\tTHINWIRE_WORKERS=1", "leave out the word export"},
      {"THINWIRE WORKERS=1", "no name of letters"},
      {"set-THINWIRE_WORKERS=1", "no name of letters"},
      {"THINWIRE_COMPRESS=\"int8\"", "leave out the quotes"},
      {"NCCL_SOCKET_IFNAME='eth0'", "leave out the quotes"},
      {"NCCL_SOCKET_IFNAME=\"eth0", "leave out the quotes"},
      {"[network]", "is not KEY=value"},
      {"THINWIRE_WORKERS: 1", "is not KEY=value"},
  };
  for (const auto& [line, reason] : cases) {
    CapturedLog captured;
    const std::string system = write("system.conf", "# first\n" + std::string(line) + "\n");
    const auto parsed = parse_config_sources({}, captured.log(), system);
    ASSERT_FALSE(parsed.ok()) << line;
    EXPECT_EQ(parsed.status().code(), Code::invalid_config) << line;
    EXPECT_THAT(captured.text(), AllOf(HasSubstr(system + ":2: "), HasSubstr(reason))) << line;
  }
}

TEST_F(ConfigFile, LinesOfWindows_AreTaken) {
  const std::string system =
      write("system.conf", "\xEF\xBB\xBFTHINWIRE_COMPRESS=fp16\r\n\r\nTHINWIRE_WORKERS=1\r\n");
  const auto parsed = parse_config_sources({}, captured_.log(), system);
  ASSERT_TRUE(parsed.ok()) << captured_.text();
  EXPECT_EQ(parsed.value().config.compress, "fp16");
  EXPECT_EQ(parsed.value().config.workers, 1);
  EXPECT_THAT(captured_.warnings(), IsEmpty());
}

TEST_F(ConfigFile, NameOfAFileInAFile_IsSaidToBeIgnored) {
  const std::string system = write("system.conf", "THINWIRE_CONF=/etc/other.conf\n");
  EXPECT_TRUE(parse_config_sources({}, captured_.log(), system).ok());
  EXPECT_THAT(captured_.text(), AllOf(HasSubstr("THINWIRE_CONF (" + system + ":1) is ignored"),
                                      HasSubstr("only the environment")));
}

TEST_F(ConfigFile, KeyThatIsNotOurs_WarnsWithoutAGuess) {
  const std::string system = write("system.conf", "PATH=/bin\nNCCL_DEBUG=INFO\n");
  EXPECT_TRUE(parse_config_sources({}, captured_.log(), system).ok());
  ASSERT_EQ(captured_.warnings().size(), 2u);
  EXPECT_EQ(captured_.warnings()[0], "unknown setting PATH (" + system + ":1) is ignored");
  EXPECT_THAT(captured_.warnings()[1],
              AllOf(HasSubstr("NCCL_DEBUG (" + system + ":2) is ignored"), HasSubstr("nccl.conf"),
                    ::testing::Not(HasSubstr("nearest"))));
}

TEST_F(ConfigFile, KeyInSmallLetters_WarnsWithTheRightOne) {
  const std::string system = write("system.conf", "thinwire_compress=int8\n");
  EXPECT_TRUE(parse_config_sources({}, captured_.log(), system).ok());
  EXPECT_THAT(captured_.text(), HasSubstr("nearest known name is THINWIRE_COMPRESS\n"));
}

TEST_F(ConfigFile, MissingSystemFile_IsFine) {
  EXPECT_TRUE(parse_config_sources({}, captured_.log(), path("absent.conf")).ok());
  EXPECT_THAT(captured_.warnings(), IsEmpty());
}

TEST_F(ConfigFile, MissingNamedFile_IsAnError) {
  const auto parsed =
      parse_config_sources({{"THINWIRE_CONF", path("absent.conf")}}, captured_.log(), path("none"));
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().code(), Code::invalid_config);
  EXPECT_THAT(captured_.text(), HasSubstr(path("absent.conf")));
}

TEST_F(ConfigFile, NamedFolder_IsAnError) {
  EXPECT_FALSE(
      parse_config_sources({{"THINWIRE_CONF", "/tmp"}}, captured_.log(), path("none")).ok());
}

TEST_F(ConfigFile, NamedPipe_IsAnErrorAndNoHang) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const auto parsed =
      parse_config_sources({{"THINWIRE_CONF", path("pipe")}}, captured_.log(), path("none"));
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().code(), Code::invalid_config);
  EXPECT_THAT(captured_.text(), HasSubstr("not a regular file"));
}

TEST_F(ConfigFile, EmptyNamedFile_IsFine) {
  EXPECT_TRUE(parse_config_sources({{"THINWIRE_CONF", write("empty.conf", "")}}, captured_.log(),
                                   path("none"))
                  .ok());
  EXPECT_THAT(captured_.warnings(), IsEmpty());
}

TEST_F(ConfigFile, ShippedFile_IsValidWithEveryKeyUncommented) {
  std::string text = configuration_file();
  const std::string commented = write("commented.conf", text);
  for (std::size_t at = 0; (at = text.find("\n#", at)) != std::string::npos; ++at) {
    if (text[at + 2] != ' ') text.erase(at + 1, 1);
  }
  const std::string uncommented = write("uncommented.conf", text);
  for (const std::string& file : {commented, uncommented}) {
    const auto parsed = parse_config_sources({}, captured_.log(), file);
    ASSERT_TRUE(parsed.ok()) << captured_.text();
    EXPECT_EQ(agreed_settings(parsed.value().config), agreed_settings(Config{}));
  }
  EXPECT_THAT(captured_.warnings(), IsEmpty());
  EXPECT_THAT(text, HasSubstr("\nTHINWIRE_COMPRESS=none\n"));
}

}  // namespace
}  // namespace thinwire
