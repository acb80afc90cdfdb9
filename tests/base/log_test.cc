#include "base/log.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/base/captured_log.h"

namespace thinwire {
namespace {

TEST(Log, Message_IsFormattedIntoOneLine) {
  testing::CapturedLog captured;
  THINWIRE_WARN(captured.log(), "%s %d", "rank", 3);
  THINWIRE_INFO(captured.log(), "not a warning");
  EXPECT_THAT(captured.warnings(), ::testing::ElementsAre("rank 3"));
}

TEST(Log, LongMessage_IsCutNotOverrun) {
  testing::CapturedLog captured;
  THINWIRE_WARN(captured.log(), "%s", std::string(5000, 'x').c_str());
  ASSERT_EQ(captured.warnings().size(), 1U);
  EXPECT_EQ(captured.warnings()[0], std::string(1023, 'x'));
}

TEST(Log, WithoutSink_WarningsGoToStderrOnly) {
  const Log log;
  ::testing::internal::CaptureStderr();
  THINWIRE_INFO(log, "quiet");
  THINWIRE_WARN(log, "loud");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "thinwire: loud\n");
}

}  // namespace
}  // namespace thinwire
