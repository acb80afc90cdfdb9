// The built programs, run as a user runs them, through the built plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kBin = THINWIRE_PERF_BIN;
const std::string kPlugin = THINWIRE_PLUGIN;
const std::string kForeign = THINWIRE_FOREIGN_PLUGIN;

struct Ended {
  int status = -1;
  std::string output;  // stdout and stderr
};

Ended run(const std::string& command) {
  Ended ended;
  FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  if (pipe == nullptr) return ended;
  char buffer[4096];
  for (std::size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    ended.output.append(buffer, got);
  }
  const int status = pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

bool port_is_free(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return free;
}

// The settings by which two processes find each other, at a port that nobody uses: below those that
// the kernel gives to clients.
std::string world_of_two() {
  static int port = getpid();
  do {
    port = 10000 + (port + 1) % 20000;
  } while (!port_is_free(port));
  return "WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port) + " ";
}

std::string temporary(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string unique = std::string(test->test_suite_name()) + "-" + test->name() + "-" + name;
  for (char& c : unique) c = c == '/' ? '-' : c;
  return (std::filesystem::path(testing::TempDir()) / unique).string();
}

// Runs a program with JSON output and returns the report.
Json report_of(const std::string& program, const std::string& arguments,
               const std::string& environment = "") {
  const std::string file = temporary("report.json");
  std::filesystem::remove(file);
  const bool names_one = arguments.find("--plugin") != std::string::npos;
  const Ended ended =
      run(environment + " " + kBin + "/" + program + (names_one ? "" : " --plugin " + kPlugin) +
          " -n 3 -w 1 " + arguments + " -J " + file);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("# Out of bounds values : 0 OK"));
  std::ifstream stream(file);
  const Json json = Json::parse(stream, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << ended.output;
  return json;
}

void expect_right(const Json& report) {
  ASSERT_FALSE(report["results"].empty());
  for (const Json& row : report["results"]) {
    EXPECT_EQ(row["out_of_place"]["nwrong"], 0) << row;
    if (!row["in_place"].is_null()) {
      EXPECT_EQ(row["in_place"]["nwrong"], 0) << row;
    }
    if (!row["out_of_place"]["hashes_equal"].is_null()) {
      EXPECT_EQ(row["out_of_place"]["hashes_equal"], true) << row;
    }
  }
}

class Programs : public testing::TestWithParam<const char*> {};

TEST_P(Programs, TwoAndThreeRanks_GiveRightResults) {
  const std::string how = GetParam();
  for (const char* program : {"all_reduce_perf", "all_gather_perf", "reduce_scatter_perf"}) {
    for (const char* ranks : {"2", "3"}) {
      const Json report = report_of(program, how + " -b 8 -e 2M -f 8 -g " + ranks);
      expect_right(report);
      EXPECT_EQ(report["results"].size(), 7u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Api, Programs,
                         testing::Values("--api net", "--api net --channels 3 --chunk 32K",
                                         "--api collnet", "--api collnet --channels 10",
                                         "--api collnet --staging --poison",
                                         "--api collnet --channels 2",
                                         "--api collnet --registered"));

TEST(AllReducePerf, EveryTypeAndOperation_IsExact) {
  for (const char* api : {"net", "collnet"}) {
    const Json report = report_of("all_reduce_perf",
                                  "-g 3 -b 20000 -e 20000 -d all -o all --api " + std::string(api));
    expect_right(report);
    EXPECT_GE(report["results"].size(), 50u) << api;
  }
}

TEST(AllReducePerf, WhatLiesPastTheEnd_NeverCounts) {
  expect_right(
      report_of("all_reduce_perf", "-g 3 -b 8 -e 2M -f 8 --api collnet --poison --channels 2"));
}

TEST(AllReducePerf, LossyCodecs_ReportBoundedErrorsAndEqualHashes) {
  for (const char* codec : {"fp16", "int8"}) {
    const Json report = report_of("all_reduce_perf", "-g 2 -b 1M -e 1M --api collnet --poison",
                                  "THINWIRE_SHM=off THINWIRE_COMPRESS=" + std::string(codec));
    expect_right(report);
    const Json& row = report["results"][0]["out_of_place"];
    EXPECT_GT(row["rms_rel_error"], 0) << codec;
    EXPECT_LT(row["rms_rel_error"], 0.03) << codec;
    EXPECT_LT(row["bytes_sent_per_rank"], 0.75 * (1 << 20)) << codec;
  }
}

// Their errors add up over hops, or from one sum to the next: no reason to call a right sum wrong.
TEST(AllReducePerf, CoarseCodecsOverManyHops_AreNotCalledWrong) {
  for (const char* settings : {"THINWIRE_COMPRESS=fp8-e4m3:sr THINWIRE_SCHEDULE=ring",
                               "THINWIRE_COMPRESS=int8 THINWIRE_EF=all"}) {
    const Json report = report_of("all_reduce_perf", "-g 7 -b 65540 -e 65540 --api collnet",
                                  std::string(settings) + " THINWIRE_COMPRESS_MIN_BYTES=0");
    expect_right(report);
    EXPECT_LT(report["results"][0]["out_of_place"]["rms_rel_error"], 0.3) << settings;
  }
}

TEST(AllReducePerf, EveryInterfaceVersion_IsRight) {
  for (int version = 6; version <= 12; ++version) {
    const std::string interface = "--interface " + std::to_string(version);
    for (const std::string api : {"net", "collnet"}) {
      const Json report =
          report_of("all_reduce_perf", "-g 2 -b 100000 -e 100000 --api " + api + " " + interface);
      expect_right(report);
      EXPECT_THAT(report["config"]["transport"].get<std::string>(),
                  HasSubstr(api + " v" + std::to_string(version)));
    }
    if (version < 8) continue;
    expect_right(report_of("all_gather_perf", "-g 2 -b 100000 -e 100000 " + interface));
    expect_right(report_of("reduce_scatter_perf", "-g 2 -b 100000 -e 100000 " + interface));
  }
}

TEST(AllReducePerf, BlockingModes_AreRight) {
  for (const char* mode : {"1", "2", "3"}) {
    expect_right(report_of("all_reduce_perf", "-g 2 -b 1K -e 64K -f 8 -z " + std::string(mode)));
  }
}

TEST(AllReducePerf, OneRank_CopiesItsInput) {
  expect_right(report_of("all_reduce_perf", "-g 1 -b 1K -e 1M -f 32 --api net"));
}

TEST(SendRecvPerf, EveryPattern_IsRight) {
  for (const char* pattern : {"ring -g 3", "pair -g 4", "pingpong -g 2"}) {
    expect_right(report_of("sendrecv_perf",
                           "-b 8 -e 1M -f 16 --reference --pattern " + std::string(pattern)));
  }
}

TEST(SendRecvPerf, Reference_HasARatio) {
  const Json report = report_of("sendrecv_perf", "-g 2 -b 64K -e 64K --pattern pair --reference");
  EXPECT_GT(report["results"][0]["out_of_place"]["reference_ratio"], 0);
}

TEST(SendRecvPerf, Buffers_AreSaidAndRight) {
  const std::string command = "-g 2 -b 64K -e 1M -f 16 --pattern pair --outstanding 4";
  for (const auto& [option, said] :
       {std::pair("", ", 4 buffer(s)"), std::pair(" --buffers 1", ", 1 buffer(s)"),
        std::pair(" --buffers 9", ", 9 buffer(s)")}) {
    const Json report = report_of("sendrecv_perf", command + option);
    expect_right(report);
    EXPECT_THAT(report["config"]["transport"].get<std::string>(), HasSubstr(said));
  }
}

// Tables of others: one version only, null for what is optional, few requests, some refused.
TEST(ForeignPlugin, PointToPointAndRings_AreRight) {
  for (const std::string version : {"6", "9"}) {
    const std::string plugin = "--plugin " + kForeign + version + ".so ";
    const Json report =
        report_of("sendrecv_perf", plugin + "-g 2 -b 8 -e 4M -f 8 --outstanding 64");
    expect_right(report);
    EXPECT_THAT(report["config"]["transport"].get<std::string>(),
                HasSubstr("net v" + version + " of Foreign"));
    expect_right(report_of("sendrecv_perf", plugin + "-g 2 -b 8 -e 64K -f 64 --pattern pingpong"));
    expect_right(report_of("sendrecv_perf", plugin + "-g 2 -b 3M -e 3M --pattern pair"));
    for (const char* program : {"all_reduce_perf", "all_gather_perf", "reduce_scatter_perf"}) {
      expect_right(report_of(program, plugin + "-g 3 -b 8 -e 4M -f 64 --channels 2"));
    }
  }
}

TEST(ForeignPlugin, WithoutCollNet_IsSaid) {
  const std::string command =
      kBin + "/all_reduce_perf -g 2 -b 64K -n 1 --plugin " + kForeign + "6.so ";
  const Ended collnet = run(command + "--api collnet");
  EXPECT_EQ(collnet.status, 3) << collnet.output;
  EXPECT_THAT(collnet.output, HasSubstr("has no CollNet table"));
  const Ended poison = run(command + "--poison");
  EXPECT_EQ(poison.status, 2) << poison.output;
  EXPECT_THAT(poison.output, HasSubstr("--poison has no effect here"));
  const Ended older = run(kBin + "/all_reduce_perf --interface 8 --plugin " + kForeign + "9.so");
  EXPECT_EQ(older.status, 2) << older.output;
  EXPECT_THAT(older.output, HasSubstr("none of ncclNetPlugin_v6 .. _v8"));
}

TEST(WireProbe, ReportsEveryRank) {
  const std::string file = temporary("probe.json");
  const Ended ended = run(kBin + "/wire_probe -g 3 -b 4M -n 1 -J " + file);
  ASSERT_EQ(ended.status, 0) << ended.output;
  std::ifstream stream(file);
  const Json json = Json::parse(stream);
  EXPECT_EQ(json["ranks"].size(), 3u);
  EXPECT_GT(json["lowest_bytes_per_s"], 0);
}

// Stopped in the middle of its stream: told by the processor time that it has used.
TEST(WireProbe, StoppedRank_EndsTheRunAfterTheTimeout) {
  const std::string world = world_of_two();
  const std::string program = kBin + "/wire_probe -b 1G -n 1000000 -T 5 --grace 1 & ";
  const Ended ended =
      run("RANK=1 " + world + program + "one=$!; RANK=0 " + world + "timeout 60 " + program +
          "zero=$!; for tries in $(seq 600); do "
          "[ \"$(cut -d' ' -f15 /proc/$one/stat)\" -ge 10 ] && break; sleep 0.05; done; "
          "kill -STOP $one; wait $zero; echo ended with $?; kill -KILL $one");
  EXPECT_THAT(ended.output, HasSubstr("ended with 4"));
  EXPECT_THAT(ended.output, HasSubstr("no progress for 5 s (--timeout)"));
}

TEST(Launcher, EnvironmentTimesLocalRanks_JoinOneRun) {
  const std::string common = world_of_two();
  const std::string program = kBin + "/all_reduce_perf -g 2 -b 64K -e 64K -n 2 --plugin " + kPlugin;
  const Ended ended =
      run("RANK=1 " + common + program + " & RANK=0 " + common + program + " && wait $!");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("Rank  3 Pid"));
}

TEST(Errors, BadPlugins_AreNamed) {
  const Ended missing = run(kBin + "/all_reduce_perf -g 2 --plugin /nowhere/x.so");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.output, HasSubstr("/nowhere/x.so"));
  const Ended other = run(kBin + "/all_reduce_perf --plugin libm.so.6");
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.output, HasSubstr("none of ncclNetPlugin_v6 .. _v12"));
}

TEST(Errors, UnknownDevice_ListsTheOnesThere) {
  const Ended ended = run(kBin + "/all_reduce_perf -g 2 --device nosuch0 --plugin " + kPlugin);
  EXPECT_EQ(ended.status, 2) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("--device nosuch0 is not there; accepted: 0 "));
}

TEST(Errors, NcclWithoutGpu_HasItsOwnStatus) {
  const Ended ended = run("CUDA_VISIBLE_DEVICES= " + kBin + "/all_reduce_perf -g 2 --api nccl");
  EXPECT_EQ(ended.status, 3) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("--api nccl cannot run here: "));
}

TEST(Errors, CollNetTableWithoutGather_IsSaid) {
  for (const char* program : {"all_gather_perf", "reduce_scatter_perf"}) {
    const std::string command =
        kBin + "/" + program + " -g 2 -b 64K -e 64K -n 1 --plugin " + kPlugin;
    const Ended refused = run(command + " --api collnet --interface 7");
    EXPECT_EQ(refused.status, 2) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("version 7 of NCCL's CollNet table knows all-reduce"));
    const Ended other = run(command + " --interface 7");
    EXPECT_EQ(other.status, 0) << other.output;
    EXPECT_THAT(other.output, HasSubstr("net v7"));
  }
}

TEST(Errors, LostOutput_IsAFailure) {
  const std::string common = " -g 2 -b 64K -n 1 -w 0 ";
  for (const std::string& program :
       {"all_reduce_perf -e 64K --plugin " + kPlugin, std::string("wire_probe")}) {
    const Ended table = run(kBin + "/" + program + common + " >/dev/full");
    EXPECT_EQ(table.status, 4) << program << table.output;
    EXPECT_THAT(table.output, HasSubstr("standard output cannot be written: No space left"));
    const Ended report = run(kBin + "/" + program + common + " -J /dev/full");
    EXPECT_EQ(report.status, 4) << program << report.output;
    EXPECT_THAT(report.output, HasSubstr("/dev/full cannot be written: No space left"));
  }
  const Ended help = run(kBin + "/all_reduce_perf --help >/dev/full");
  EXPECT_EQ(help.status, 4);
}

TEST(Errors, DifferentOptions_AreNamedByRank) {
  const std::string common = world_of_two();
  const std::string program = kBin + "/all_reduce_perf -T 100 -e 64K -n 2 --plugin " + kPlugin;
  const Ended ended = run("RANK=1 " + common + program + " -b 32K & RANK=0 " + common + program +
                          " -b 64K; one=$?; wait $!; echo both $one $?");
  EXPECT_THAT(ended.output, HasSubstr("rank 1: --minbytes 32K (rank 0: 64K)"));
  EXPECT_THAT(ended.output, HasSubstr("both 2 2"));
}

TEST(Errors, NoDescriptorsLeft_NamesTheLimit) {
  const Ended probe = run("ulimit -n 6; timeout 60 " + kBin + "/wire_probe -g 8 -T 3");
  EXPECT_EQ(probe.status, 4) << probe.output;
  EXPECT_THAT(probe.output, HasSubstr("ulimit -n"));
  const Ended plugin =
      run("ulimit -n 14; timeout 60 " + kBin + "/all_reduce_perf -g 4 -T 3 --plugin " + kPlugin);
  EXPECT_EQ(plugin.status, 4) << plugin.output;
  EXPECT_THAT(plugin.output, HasSubstr("ulimit -n"));
}

// Starts an endless run, sends `signal` to one rank once it runs, and returns how the rest ended.
// `line` is of the output and has the rank's process id.
Ended signal_one_rank(const std::string& program, const std::regex& line_with_pid,
                      const std::string& when, int number) {
  Ended ended;
  FILE* pipe = popen(("exec " + kBin + "/" + program + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  bool sent = false;
  char line[1024];
  while (fgets(line, sizeof line, pipe) != nullptr) {
    ended.output += line;
    std::smatch match;
    const bool runs = ended.output.find(when) != std::string::npos;
    if (!sent && runs && std::regex_search(ended.output, match, line_with_pid)) {
      kill(std::stoi(match[1]), number);
      sent = true;
    }
  }
  const int status = pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

Ended signal_one_rank(const std::string& arguments, int victim, int number) {
  const std::string program =
      "all_reduce_perf -g 3 -n 1000000000 -b 1M -e 1M -c 0 --plugin " + kPlugin + " " + arguments;
  return signal_one_rank(program, std::regex("Rank +" + std::to_string(victim) + " Pid +([0-9]+)"),
                         "(elements)", number);
}

TEST(Errors, KilledRank_EndsTheOthers) {
  for (const char* api : {"--api net", "--api collnet"}) {
    for (const int victim : {0, 2}) {
      const Ended ended = signal_one_rank(api, victim, SIGKILL);
      EXPECT_EQ(ended.status, 4) << ended.output;
      EXPECT_THAT(ended.output, HasSubstr("was killed by signal 9")) << api;
      EXPECT_THAT(ended.output, HasSubstr(victim == 0 ? "rank 1: " : "rank 0: ")) << api;
    }
  }
}

// It neither runs nor ends: the others notice within --timeout, and it is killed --grace later.
TEST(Errors, StoppedRank_IsKilledAfterTimeoutAndGrace) {
  for (const char* api : {"--api net", "--api collnet"}) {
    const Ended ended = signal_one_rank(std::string(api) + " -T 2 --grace 1", 2, SIGSTOP);
    EXPECT_EQ(ended.status, 4) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("no progress for 2 s (--timeout)")) << api;
    EXPECT_THAT(ended.output, HasSubstr("rank 2 has not ended since another failed")) << api;
  }
}

}  // namespace
