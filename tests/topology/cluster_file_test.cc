#include "topology/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/base/captured_log.h"
#include "topology/host_list.h"

namespace thinwire::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using thinwire::testing::CapturedLog;

ClusterView parsed(std::string_view text) {
  const CapturedLog log;
  const auto view = parse_cluster_text(text, "topology.conf", log.log());
  EXPECT_TRUE(view.ok()) << log.text();
  return view.ok() ? view.value() : ClusterView();
}

std::string refusal(std::string_view text) {
  const CapturedLog log;
  const auto view = parse_cluster_text(text, "topology.conf", log.log());
  EXPECT_FALSE(view.ok()) << text;
  EXPECT_EQ(view.status().code(), Code::invalid_config);
  EXPECT_EQ(log.warnings().size(), 1u);
  return log.text();
}

std::string name_of_leaf(const ClusterView& view, std::string_view host) {
  const auto leaf = view.leaf_of(host);
  return leaf ? view.groups()[static_cast<std::size_t>(*leaf)].name : "unknown";
}

TEST(HostList_RangesAndBrackets_Expand, InTheirOrder) {
  EXPECT_THAT(expand_host_list("node[1-3,7],login").names,
              ElementsAre("node1", "node2", "node3", "node7", "login"));
  EXPECT_THAT(expand_host_list("n[08-10]").names, ElementsAre("n08", "n09", "n10"));
  EXPECT_THAT(expand_host_list("r[1-2]n[01-02]x").names,
              ElementsAre("r1n01x", "r1n02x", "r2n01x", "r2n02x"));
}

TEST(HostList_MalformedText_IsExplained, WithoutNames) {
  const std::string long_name = std::string(4'000'000, 'a') + "[0-65535]";
  for (const char* text :
       {"", "a,,b", "a[1-", "a[]", "a[3-1]", "a[1-x]", "a b", "a[1-99999]", "a[1-300]b[1-300]",
        "a[1-9999999999]", "a[-1]", "a]", long_name.c_str()}) {
    const HostList list = expand_host_list(text);
    EXPECT_FALSE(list.error.empty()) << text;
    EXPECT_TRUE(list.names.empty()) << text;
  }
}

constexpr const char* kSlurm =
    "# two leaves\n"
    "SwitchName=leaf1 Nodes=node[1-4,7] LinkSpeed=100\n"
    "switchname=leaf2 nodes=node5,\\\n"
    "  \n"
    "SwitchName=spine Switches=leaf[1-2]   # above\n";

TEST(ClusterFile_SlurmTopology_PlacesHosts, UnderLeavesAndSpines) {
  const ClusterView view = parsed(
      "SwitchName=leaf1 Nodes=node[1-4,7] LinkSpeed=100\n"
      "switchname=leaf2 \\\n   nodes=node[5-6]\n\n"
      "SwitchName=spine Switches=leaf[1-2]   # above\n");
  EXPECT_EQ(view.hosts(), 7u);
  EXPECT_EQ(name_of_leaf(view, "node7"), "leaf1");
  EXPECT_EQ(name_of_leaf(view, "node6.cluster.example"), "leaf2");
  EXPECT_EQ(view.switches_between("node1", "node7"), 1);
  EXPECT_EQ(view.switches_between("node1", "node5"), 3);
  EXPECT_EQ(view.switches_between("node1", "node9"), std::nullopt);
  EXPECT_EQ(view.path_of("node5").size(), 2u);
}

TEST(ClusterFile_OwnFormat_EqualsSlurms, WithTheSameDigest) {
  const ClusterView own = parsed("spine: leaf1 leaf2\nleaf2: b1, b2\nleaf1: a[1-2]\n");
  const ClusterView slurm = parsed(
      "SwitchName=leaf1 Nodes=a[1-2]\nSwitchName=leaf2 Nodes=b[1-2]\n"
      "SwitchName=spine Switches=leaf[1-2]\n");
  EXPECT_EQ(own.digest(), slurm.digest());
  EXPECT_EQ(own.leaf_of("a2"), slurm.leaf_of("a2"));
  const ClusterView other = parsed("spine: leaf1 leaf2\nleaf2: b1\nleaf1: a[1-2] b2\n");
  EXPECT_NE(own.digest(), other.digest());
}

TEST(ClusterFile_UnconnectedLeaves_HaveNoDistance, ButTheirHosts) {
  const ClusterView view = parsed("left: a1 a2\nright: b1\n");
  EXPECT_EQ(view.switches_between("a1", "a2"), 1);
  EXPECT_EQ(view.switches_between("a1", "b1"), std::nullopt);
}

TEST(ClusterFile_BlockPlugin_NamesLeavesToo, AndSizesAreIgnored) {
  const ClusterView view =
      parsed("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n3\nBlockSizes=2\n");
  EXPECT_EQ(name_of_leaf(view, "n2"), "b1");
  EXPECT_EQ(name_of_leaf(view, "n3"), "b2");
}

struct Refusal {
  const char* text;
  const char* where;
  const char* what;
};

TEST(ClusterFile_MalformedText_IsRefused, WithFileAndLine) {
  std::string too_many;
  for (int i = 0; i < 17; ++i) {
    too_many += "r" + std::to_string(i) + ": h" + std::to_string(i) + "x[0-65535]\n";
  }
  std::string too_deep = "g0: host\n";
  for (int i = 1; i < 100'000; ++i) {
    too_deep += "g" + std::to_string(i) + ": g" + std::to_string(i - 1) + "\n";
  }
  const Refusal refusals[] = {
      {kSlurm, ":3:", "an empty name"},
      {"", ":1:", "defines nothing"},
      {"# only\n\n", ":1:", "defines nothing"},
      {"leaf1: a\n\nleaf2: a\n", ":3:", "host 'a' is named twice, first in line 1"},
      {"leaf1: a[1-2] a1\n", ":1:", "named twice"},
      {"leaf1: a\nleaf1: b\n", ":2:", "group 'leaf1' is named twice, first in line 1"},
      {"x: y a\ny: z b\nz: x\n", ":1:", "contained in itself"},
      {"x: x a\n", ":1:", "contained in itself"},
      {"x: y\ny: x\n", ":1:", "no line names a host"},
      {"p: l a\nq: l b\nl: c\n", ":2:", "member 'l' is named twice, first in line 1"},
      {"SwitchName=s Switches=t\n", ":1:", "switch 't' is defined nowhere"},
      {"SwitchName=s Nodes=a\nleaf: b\n", ":2:", "is not KEY=value"},
      {"SwitchName=s Nodes=a\nNodes=b\n", ":2:", "SwitchName= is missing"},
      {"SwitchName=s\n", ":1:", "neither Nodes= nor Switches="},
      {"SwitchName=s Nodes=\n", ":1:", "is not KEY=value"},
      {"SwitchName=s Nods=a\n", ":1:", "unknown key 'Nods'"},
      {"SwitchName=s Nodes=a[4-2]\n", ":1:", "runs backwards"},
      {"SwitchName=s[1-2] Nodes=a\n", ":1:", "one name"},
      {"leaf1 a b\n", ":1:", "expected 'GROUP: member"},
      {"leaf1:\n", ":1:", "no members"},
      {"leaf1: a\nleaf2: b,,c\n", ":2:", "between two commas"},
      {too_many.c_str(), ":17:", "more than 1048576 hosts"},
      {too_deep.c_str(), ":1:", "'g0' is in more than 64 others"},
  };
  for (const Refusal& each : refusals) {
    const std::string message = refusal(each.text);
    EXPECT_THAT(message, HasSubstr(std::string("topology.conf") + each.where)) << each.text;
    EXPECT_THAT(message, HasSubstr(each.what)) << each.text;
  }
}

class ClusterFile : public ::testing::Test {
 protected:
  ClusterFile() { std::filesystem::create_directories(folder_); }
  ~ClusterFile() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("thinwire_cluster_" + std::to_string(::getpid()));
};

TEST_F(ClusterFile, ReadFromDisk_EqualsItsText) {
  const std::string path = folder_ / "racks";
  std::ofstream(path) << "rack1: a b\n";
  const CapturedLog log;
  const auto view = read_cluster_file(path, log.log());
  ASSERT_TRUE(view.ok()) << log.text();
  EXPECT_EQ(view.value().digest(), parsed("rack1: a b\n").digest());
  EXPECT_TRUE(read_cluster_file("", log.log()).value().empty());
}

TEST_F(ClusterFile, UnusableFile_IsRefusedByName) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string large = folder_ / "large";
  std::ofstream(large) << std::string((std::size_t{4} << 20) + 1, '#');
  for (const std::string& path :
       {std::string(folder_ / "none"), std::string(folder_), pipe, large}) {
    const CapturedLog log;
    const auto view = read_cluster_file(path, log.log());
    ASSERT_FALSE(view.ok()) << path;
    EXPECT_EQ(view.status().code(), Code::invalid_config);
    EXPECT_THAT(log.text(), HasSubstr("THINWIRE_CLUSTER_FILE: " + path));
  }
}

}  // namespace
}  // namespace thinwire::topology
