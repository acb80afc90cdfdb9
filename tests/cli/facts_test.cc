#include "cli/facts.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace thinwire::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PluginFileNames, FollowTheVersion) {
  EXPECT_THAT(plugin_file_names("", 22000), ElementsAre("libnccl-net.so"));
  EXPECT_THAT(plugin_file_names("thinwire", 22005), ElementsAre("libnccl-net-thinwire.so"));
  EXPECT_THAT(plugin_file_names("thinwire", 22105),
              ElementsAre("thinwire", "libnccl-net-thinwire.so"));
  EXPECT_THAT(plugin_file_names("a,b", 22602), ElementsAre("a,b", "libnccl-net-a,b.so"));
  EXPECT_THAT(plugin_file_names("a,b", 22703),
              ElementsAre("a", "libnccl-net-a.so", "b", "libnccl-net-b.so"));
  EXPECT_THAT(plugin_file_names("none", 22703), ElementsAre("none", "libnccl-net-none.so"));
  EXPECT_THAT(plugin_file_names("none", 22809), IsEmpty());
}

TEST(PluginFileNames, UnknownVersion_IsTheNewest) {
  EXPECT_THAT(plugin_file_names("none", 0), IsEmpty());
  EXPECT_EQ(plugin_file_names("a,b", 0).size(), 4U);
}

TEST(PluginFileNames, LongList_EndsAtFourteen) {
  EXPECT_EQ(plugin_file_names("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", 22900).size(), 28U);
}

TEST(NcclFiles, AddToTheEnvironmentWithoutOverriding) {
  const std::string path = ::testing::TempDir() + "nccl_conf_" + std::to_string(getpid());
  std::ofstream(path) << "# site\nNCCL_NET=Thinwire\nNCCL_DEBUG=WARN\n";
  const EnvironmentList list =
      with_nccl_files({{"NCCL_DEBUG", "INFO"}, {"HOME", "/nonexistent"}}, path);
  EXPECT_EQ(value_of(list, "NCCL_NET"), "Thinwire");
  EXPECT_EQ(value_of(list, "NCCL_DEBUG"), "INFO");
  EXPECT_EQ(value_of(list, "NCCL_ALGO"), "");
  unlink(path.c_str());
}

TEST(InspectLibrary, Missing_GivesTheLoadersReason) {
  const LibraryFacts facts = inspect_library("/nonexistent/libx.so");
  EXPECT_EQ(facts.path, "");
  EXPECT_THAT(facts.error, ::testing::HasSubstr("/nonexistent/libx.so"));
}

TEST(InspectLibrary, ForeignLibrary_HasNoTables) {
  const LibraryFacts facts = inspect_library("libm.so.6");
  EXPECT_THAT(facts.path, ::testing::HasSubstr("libm.so"));
  EXPECT_THAT(facts.tables, IsEmpty());
  EXPECT_EQ(facts.net_name, "");
}

}  // namespace
}  // namespace thinwire::cli
