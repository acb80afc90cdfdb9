#include "base/launcher.h"

#include <gmock/gmock.h>

#include "tests/base/captured_log.h"

namespace thinwire {
namespace {

using ::testing::AllOf;
using testing::CapturedLog;
using ::testing::HasSubstr;

LauncherInfo info_of(const EnvironmentList& environment) {
  CapturedLog captured;
  auto info = launcher_info(environment, captured.log());
  EXPECT_TRUE(info.ok()) << captured.text();
  return info.ok() ? std::move(info).value() : LauncherInfo{};
}

std::string refusal_of(const EnvironmentList& environment) {
  CapturedLog captured;
  const auto info = launcher_info(environment, captured.log());
  EXPECT_FALSE(info.ok());
  EXPECT_EQ(info.status().code(), Code::invalid_config);
  return captured.text();
}

TEST(Launcher, Nothing_IsOneRankAlone) {
  const LauncherInfo info = info_of({{"HOME", "/root"}});
  EXPECT_EQ(info.launcher, "");
  EXPECT_EQ(info.ranks, 1);
  EXPECT_EQ(info.rendezvous_host, "127.0.0.1");
}

TEST(Launcher, Torchrun_IsUnderstood) {
  const LauncherInfo info = info_of({{"RANK", "5"},
                                     {"WORLD_SIZE", "8"},
                                     {"LOCAL_RANK", "1"},
                                     {"MASTER_ADDR", "node0"},
                                     {"MASTER_PORT", "1234"}});
  EXPECT_EQ(info.launcher, "torchrun");
  EXPECT_EQ(info.rank, 5);
  EXPECT_EQ(info.ranks, 8);
  EXPECT_EQ(info.local_rank, 1);
  EXPECT_EQ(info.rendezvous_host, "node0");
  EXPECT_EQ(info.rendezvous_port, 1234);
}

TEST(Launcher, TorchrunAgent_KeepsMasterPortForItself) {
  const LauncherInfo info = info_of({{"RANK", "0"},
                                     {"WORLD_SIZE", "2"},
                                     {"MASTER_ADDR", "node0"},
                                     {"MASTER_PORT", "1234"},
                                     {"TORCHELASTIC_RUN_ID", "x"}});
  EXPECT_EQ(info.rendezvous_port, 1235);
}

TEST(Launcher, OpenMpiOnOneHost_NeedsNoAddress) {
  const LauncherInfo info = info_of({{"OMPI_COMM_WORLD_RANK", "1"},
                                     {"OMPI_COMM_WORLD_SIZE", "2"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(info.launcher, "openmpi");
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(info.local_rank, 1);
  EXPECT_EQ(info.rendezvous_host, "127.0.0.1");
}

TEST(Launcher, OpenMpiOnSeveralHosts_AsksForTheAddress) {
  const EnvironmentList several{{"OMPI_COMM_WORLD_RANK", "1"},
                                {"OMPI_COMM_WORLD_SIZE", "4"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_THAT(refusal_of(several), HasSubstr("MASTER_ADDR"));
  EnvironmentList told = several;
  told.emplace_back("MASTER_ADDR", "10.0.0.1");
  EXPECT_EQ(info_of(told).rendezvous_host, "10.0.0.1");
}

TEST(Launcher, Pmi_IsUnderstood) {
  const LauncherInfo info =
      info_of({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "3"}});
  EXPECT_EQ(info.launcher, "pmi");
  EXPECT_EQ(info.rank, 3);
  EXPECT_EQ(info.local_rank, 3);
}

TEST(Launcher, Slurm_TakesTheFirstHostOfTheStep) {
  const LauncherInfo info = info_of({{"SLURM_PROCID", "2"},
                                     {"SLURM_NTASKS", "4"},
                                     {"SLURM_LOCALID", "0"},
                                     {"SLURM_JOB_ID", "1002003"},
                                     {"SLURM_STEP_ID", "0"},
                                     {"SLURM_JOB_NODELIST", "gpu[03-09,11],login"}});
  EXPECT_EQ(info.launcher, "slurm");
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.rendezvous_host, "gpu03");
  EXPECT_EQ(info.rendezvous_port, 29403);
}

TEST(Launcher, SlurmHostLists_OfEveryShape) {
  const auto host = [](const char* list) {
    return info_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_NODELIST", list}})
        .rendezvous_host;
  };
  EXPECT_EQ(host("a"), "a");
  EXPECT_EQ(host("a,b"), "a");
  EXPECT_EQ(host("rack[1-2]n[08,09].site"), "rack1n08.site");
  EXPECT_EQ(host("n[7"), "n7");
}

TEST(Launcher, SlurmBatchScript_IsAlone) {
  const LauncherInfo info =
      info_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_EQ(info.launcher, "");
  EXPECT_EQ(info.ranks, 1);
}

TEST(Launcher, TorchrunInsideSlurm_Wins) {
  const LauncherInfo info = info_of({{"SLURM_PROCID", "0"},
                                     {"SLURM_NTASKS", "1"},
                                     {"SLURM_NODELIST", "n1"},
                                     {"RANK", "1"},
                                     {"WORLD_SIZE", "2"}});
  EXPECT_EQ(info.launcher, "torchrun");
  EXPECT_EQ(info.ranks, 2);
  EXPECT_EQ(info.rendezvous_host, "n1");
}

TEST(Launcher, IncompleteSet_NamesBothVariables) {
  EXPECT_THAT(refusal_of({{"RANK", "1"}}), AllOf(HasSubstr("RANK=1"), HasSubstr("WORLD_SIZE")));
  EXPECT_THAT(refusal_of({{"PMI_SIZE", "2"}}),
              AllOf(HasSubstr("PMI_SIZE=2"), HasSubstr("PMI_RANK")));
  EXPECT_THAT(refusal_of({{"RANK", "1"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_ADDR"));
}

TEST(Launcher, ContradictoryValues_AreRefused) {
  EXPECT_THAT(refusal_of({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}), HasSubstr("PMI_RANK=2"));
  EXPECT_THAT(refusal_of({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}), HasSubstr("PMI_RANK=x"));
  EXPECT_THAT(refusal_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}), HasSubstr("PMI_SIZE=0"));
  EXPECT_THAT(refusal_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"MASTER_PORT", "70000"}}),
              HasSubstr("MASTER_PORT=70000"));
}

}  // namespace
}  // namespace thinwire
