#include "cli/checks.h"

#include <gmock/gmock.h>

namespace thinwire::cli {
namespace {

using ::testing::HasSubstr;

LibraryFacts library(const std::string& path, const std::string& net_name) {
  LibraryFacts facts;
  facts.name = path;
  facts.path = path;
  facts.net_name = net_name;
  facts.tables = {"ncclNetPlugin_v12"};
  return facts;
}

// A host on which everything is right.
Facts healthy() {
  Facts facts;
  facts.environment = {
      {"NCCL_NET_PLUGIN", "thinwire"}, {"NCCL_NET", "thinwire"}, {"NCCL_COLLNET_ENABLE", "1"}};
  facts.config.emplace();
  facts.nccl = {"/usr/lib/libnccl.so.2", 22705};
  facts.plugin = library("/usr/lib/libnccl-net-thinwire.so", "Thinwire");
  facts.candidates = {facts.plugin};
  facts.host = {.open_files = 65536,
                .congestion = "cubic",
                .available_congestion = "reno cubic",
                .tcp_receive_max_bytes = 6 << 20,
                .tcp_send_max_bytes = 4 << 20,
                .core_receive_max_bytes = 212992,
                .core_send_max_bytes = 212992};
  NicInfo nic;
  nic.name = "eth0";
  facts.transports = {{"tcp", true, {nic}, ""}, {"ucx", false, {}, "not installed"}};
  return facts;
}

void set(Facts& facts, const std::string& name, const std::string& value) {
  std::erase_if(facts.environment, [&](const auto& entry) { return entry.first == name; });
  facts.environment.emplace_back(name, value);
}

// The worst finding of that subject; ok with an empty text when there is none.
Finding worst(const Facts& facts, const std::string& subject) {
  Finding result;
  for (const Finding& finding : run_checks(facts)) {
    if (finding.subject == subject && finding.verdict >= result.verdict) result = finding;
  }
  return result;
}

TEST(Doctor, UnknownSetting_IsAFindingOfItsOwn) {
  Facts facts = healthy();
  facts.unknown = {"unknown setting THINWIRE_COMPRES (environment) is ignored"};
  const Finding finding = worst(facts, "settings");
  EXPECT_EQ(finding.verdict, Verdict::warn);
  EXPECT_EQ(finding.text, facts.unknown.front());
}

TEST(Doctor, LibraryThatNcclDoesNotFind_IsToldWithItsFolder) {
  Facts facts = healthy();
  facts.plugin.path = "/opt/thinwire/lib/libnccl-net-thinwire.so";
  facts.candidates.clear();
  EXPECT_THAT(worst(facts, "choice").advice,
              HasSubstr("LD_LIBRARY_PATH contain /opt/thinwire/lib"));
  facts.plugin.path.clear();
  EXPECT_THAT(worst(facts, "choice").advice, HasSubstr("the library's folder"));
}

TEST(Doctor, HealthyHost_IsAllOk) {
  for (const Finding& finding : run_checks(healthy())) {
    EXPECT_EQ(finding.verdict, Verdict::ok) << finding.subject << ": " << finding.text;
    EXPECT_EQ(finding.advice, "") << finding.subject;
  }
  EXPECT_EQ(print_findings(run_checks(healthy())), 0);
}

TEST(Doctor, AnyFailure_SetsTheExitStatus) {
  EXPECT_EQ(print_findings({{Verdict::ok, "a", "", ""}, {Verdict::warn, "b", "", "x"}}), 0);
  EXPECT_EQ(print_findings({{Verdict::fail, "a", "", "x"}, {Verdict::ok, "b", "", ""}}), 1);
}

TEST(Doctor, EveryProblem_ComesWithAdvice) {
  Facts facts;
  facts.transports = {{"tcp", true, {}, "no interface"}};
  for (const Finding& finding : run_checks(facts)) {
    const bool fine = finding.verdict == Verdict::ok;
    EXPECT_EQ(finding.advice.empty(), fine) << finding.subject;
  }
}

TEST(Doctor, InvalidSettings_Fail) {
  Facts facts = healthy();
  facts.config.reset();
  EXPECT_EQ(worst(facts, "settings").verdict, Verdict::fail);
}

TEST(Doctor, ForeignLibrary_Fails) {
  Facts facts = healthy();
  facts.plugin = library("/usr/lib/libnccl-net-ofi.so", "AWS Libfabric");
  EXPECT_EQ(worst(facts, "library").verdict, Verdict::fail);
}

TEST(Doctor, AnotherPluginFirst_Fails) {
  Facts facts = healthy();
  facts.candidates.insert(facts.candidates.begin(), library("/opt/libnccl-net-ofi.so", "OFI"));
  EXPECT_THAT(worst(facts, "choice").text, HasSubstr("/opt/libnccl-net-ofi.so instead"));
  facts.candidates.clear();
  EXPECT_EQ(worst(facts, "choice").verdict, Verdict::fail);
}

TEST(Doctor, NcclThatForgetsThePlugin_WantsTheReferenceCount) {
  Facts facts = healthy();
  for (const int version : {22803, 22907}) {
    facts.nccl.version = version;
    EXPECT_EQ(worst(facts, "reload").verdict, Verdict::warn) << version;
  }
  for (const int version : {22800, 23000}) {
    facts.nccl.version = version;
    EXPECT_EQ(worst(facts, "reload").verdict, Verdict::ok) << version;
  }
  facts.nccl.version = 22803;
  set(facts, "NCCL_NET_PLUGIN_REF_COUNT", "1");
  EXPECT_EQ(worst(facts, "reload").verdict, Verdict::ok);
}

TEST(Doctor, NetworkName_UnsetWarnsAndAnotherFails) {
  Facts facts = healthy();
  set(facts, "NCCL_NET", "");
  EXPECT_EQ(worst(facts, "network").verdict, Verdict::warn);
  set(facts, "NCCL_NET", "Socket");
  EXPECT_EQ(worst(facts, "network").verdict, Verdict::fail);
}

TEST(Doctor, UnusableFileOfMachineOrCluster_Fails) {
  Facts facts = healthy();
  EXPECT_EQ(worst(facts, "settings").verdict, Verdict::ok);
  facts.has_places = false;
  EXPECT_EQ(worst(facts, "settings").verdict, Verdict::fail);
}

TEST(Doctor, CollNetOff_FailsOnlyWhereCompressionIsAsked) {
  Facts facts = healthy();
  set(facts, "NCCL_COLLNET_ENABLE", "0");
  EXPECT_EQ(worst(facts, "collnet").verdict, Verdict::warn);
  facts.config->config.compress = "int8";
  EXPECT_EQ(worst(facts, "collnet").verdict, Verdict::fail);
}

TEST(Doctor, NodeThreshold_IsMentioned) {
  Facts facts = healthy();
  set(facts, "NCCL_COLLNET_NODE_THRESHOLD", "8");
  EXPECT_EQ(worst(facts, "collnet").verdict, Verdict::warn);
}

TEST(Doctor, Algorithms_ThatKeepCollNetOutOrAlone) {
  Facts facts = healthy();
  const auto verdict = [&](const char* algorithm) {
    set(facts, "NCCL_ALGO", algorithm);
    return worst(facts, "algorithm").verdict;
  };
  EXPECT_EQ(verdict("Ring"), Verdict::warn);
  EXPECT_EQ(verdict("^CollnetChain"), Verdict::warn);
  EXPECT_EQ(verdict("^Tree"), Verdict::ok);
  EXPECT_EQ(verdict("CollnetDirect"), Verdict::warn);
  EXPECT_EQ(verdict("CollnetDirect,Ring"), Verdict::ok);
  EXPECT_EQ(verdict("allreduce:collnetdirect"), Verdict::ok);
  facts.nccl.version = 22304;
  EXPECT_EQ(verdict("allreduce:collnetdirect"), Verdict::fail);
}

TEST(Doctor, Identity_NeedsNcclsProfilerWhereSumsAreCompressed) {
  Facts facts = healthy();
  const auto verdict = [&](int version, const char* profiler) {
    facts.nccl.version = version;
    set(facts, "NCCL_PROFILER_PLUGIN", profiler);
    return worst(facts, "identity").verdict;
  };
  EXPECT_EQ(verdict(22602, "other"), Verdict::ok) << "nothing is compressed";
  facts.config->config.compress = "topk:0.01";
  EXPECT_EQ(verdict(22602, "thinwire"), Verdict::warn);
  EXPECT_EQ(verdict(22705, ""), Verdict::warn);
  EXPECT_EQ(verdict(22705, "thinwire"), Verdict::ok);
  EXPECT_EQ(verdict(22809, ""), Verdict::ok);
  EXPECT_EQ(verdict(22809, "inspector"), Verdict::warn);
  EXPECT_EQ(verdict(0, ""), Verdict::ok);
  facts.config->config.ef_identity = IdentityChoice::buffer;
  EXPECT_EQ(verdict(22809, "inspector"), Verdict::ok);
}

TEST(Doctor, LoopbackOnly_Warns) {
  Facts facts = healthy();
  facts.transports[0].devices[0].name = "lo";
  EXPECT_EQ(worst(facts, "tcp").verdict, Verdict::warn);
  facts.transports[0] = {"tcp", true, {}, "no interface matches NCCL_SOCKET_IFNAME"};
  EXPECT_EQ(worst(facts, "tcp").verdict, Verdict::fail);
}

TEST(Doctor, AbsentTransport_FailsOnlyWhereItIsChosen) {
  Facts facts = healthy();
  EXPECT_EQ(worst(facts, "ucx").verdict, Verdict::ok);
  facts.transports[1].chosen = true;
  EXPECT_EQ(worst(facts, "ucx").verdict, Verdict::fail);
}

TEST(Doctor, HostLimits_AreJudged) {
  Facts facts = healthy();
  facts.host.open_files = 1024;
  EXPECT_EQ(worst(facts, "open files").verdict, Verdict::warn);
  facts.host.congestion = "bbr";
  EXPECT_EQ(worst(facts, "congestion").verdict, Verdict::warn);
  facts.config->config.tcp_congestion = "dctcp";
  EXPECT_THAT(worst(facts, "congestion").text, HasSubstr("dctcp is not available"));
}

TEST(Doctor, Buffers_AreComparedWithTheLink) {
  Facts facts = healthy();
  facts.transports[0].devices[0].speed_mbps = 200000;
  EXPECT_EQ(worst(facts, "buffers").verdict, Verdict::warn);
  facts.config->config.tcp_socket_buffer_bytes = 100000;
  EXPECT_EQ(worst(facts, "buffers").verdict, Verdict::ok);
  facts.config->config.tcp_socket_buffer_bytes = 1 << 20;
  EXPECT_EQ(worst(facts, "buffers").verdict, Verdict::warn);
}

TEST(VersionText, FollowsNcclsNumbering) {
  EXPECT_EQ(version_text(22809), "2.28.9");
  EXPECT_EQ(version_text(23000), "2.30.0");
  EXPECT_EQ(version_text(0), "unknown");
}

}  // namespace
}  // namespace thinwire::cli
