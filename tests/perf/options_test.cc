#include "perf/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "perf/agreement.h"
#include "perf/failure.h"
#include "perf/option_rules.h"
#include "perf/size_text.h"

namespace thinwire::perf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Options parse(std::vector<const char*> arguments, Collective collective = Collective::all_reduce) {
  arguments.insert(arguments.begin(), "program");
  return parse_options(Program::collective, collective, static_cast<int>(arguments.size()),
                       arguments.data());
}

// The usage error of a command line; "" where there is none.
std::string usage_error(std::vector<const char*> arguments,
                        Collective collective = Collective::all_reduce) {
  try {
    (void)parse(std::move(arguments), collective);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::usage);
    return failure.what();
  }
  return "";
}

TEST(SizeText, WithUnits_IsPowersOf1024) {
  EXPECT_EQ(parse_size("8"), 8u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("1.5m"), 1572864u);
  EXPECT_EQ(parse_size("2G"), 2147483648u);
  EXPECT_EQ(parse_size("1T"), kMaxBytes);
  EXPECT_EQ(parse_size("16KiB"), 16384u);
}

TEST(SizeText, NoSize_IsRefused) {
  for (const char* text : {"", "K", "-1", "8X", "8 K", "2T", "1e3", "nan", "0x10", "8KK"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(SizeText, RoundTrip_KeepsTheValue) {
  EXPECT_EQ(size_text(67108864), "64M");
  EXPECT_EQ(size_text(1025), "1025");
  EXPECT_EQ(size_text(0), "0");
  EXPECT_EQ(parse_size(size_text(3u << 20)), 3u << 20);
}

TEST(Options, NcclTestsFlags_AreTaken) {
  const Options o = parse({"-b", "8",  "-e", "64M",      "-f",  "2",  "-n",   "5",  "-w",
                           "3",  "-c", "0",  "-o",       "max", "-d", "half", "-r", "1",
                           "-z", "1",  "-J", "out.json", "-g",  "4",  "-a",   "3"});
  EXPECT_EQ(o.min_bytes, 8u);
  EXPECT_EQ(o.max_bytes, 64u << 20);
  EXPECT_EQ(o.step_factor, 2);
  EXPECT_EQ(o.iterations, 5);
  EXPECT_EQ(o.warmup, 3);
  EXPECT_EQ(o.check, 0);
  EXPECT_THAT(o.ops, ElementsAre(PerfOp::max));
  EXPECT_THAT(o.types, ElementsAre(DataType::float16));
  EXPECT_EQ(o.root, 1);
  EXPECT_EQ(o.blocking, 1);
  EXPECT_EQ(o.json_path, "out.json");
  EXPECT_EQ(o.local_ranks, 4);
  EXPECT_EQ(o.average, Average::maximum);
}

TEST(Options, All_MeansEveryTypeAndOperation) {
  const Options o = parse({"-d", "all", "-o", "all"});
  EXPECT_EQ(o.types.size(), static_cast<std::size_t>(kDataTypeCount));
  EXPECT_EQ(o.ops.size(), static_cast<std::size_t>(kPerfOpCount));
}

TEST(Options, BadValues_NameWhatIsAccepted) {
  EXPECT_THAT(usage_error({"-b", "2M", "-e", "1M"}),
              HasSubstr("--minbytes 2M is larger than --maxbytes 1M"));
  EXPECT_THAT(usage_error({"-b", "x"}), HasSubstr("0 to 1T"));
  EXPECT_THAT(usage_error({"-d", "float128"}), HasSubstr("bfloat16, f8e4m3, f8e5m2, all"));
  EXPECT_THAT(usage_error({"-o", "xor"}), HasSubstr("sum, prod, max, min, avg, all"));
  EXPECT_THAT(usage_error({"-i", "0"}), HasSubstr("accepted: 1 to"));
  EXPECT_THAT(usage_error({"-b", "0", "-e", "8", "-f", "2"}), HasSubstr("stays 0"));
  EXPECT_THAT(usage_error({"--chunk", "100"}), HasSubstr("multiples of 64"));
  EXPECT_THAT(usage_error({"--chunk", "0"}), HasSubstr("multiples of 64"));
  EXPECT_THAT(usage_error({"--chunk", "2G"}), HasSubstr("up to 1G"));
  EXPECT_THAT(usage_error({"--channels", "33"}), HasSubstr("1 to 32"));
  EXPECT_THAT(usage_error({"--api", "ib"}),
              HasSubstr("--api: ib is unknown; accepted: net, nccl, collnet"));
  EXPECT_THAT(usage_error({"--registered", "--poison"}), HasSubstr("exact sizes"));
  EXPECT_THAT(usage_error({"--nonsense"}), HasSubstr("--nonsense"));
}

TEST(Options, OptionWithoutEffect_IsRefused) {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"--api", "net", "--poison"}, "--poison has no effect"},
      {{"--api", "net", "--staging"}, "--staging has no effect"},
      {{"--api", "net", "--registered"}, "--registered has no effect"},
      {{"--api", "nccl", "--registered"}, "--registered has no effect"},
      {{"--api", "nccl", "--plugin", "x"}, "--plugin has no effect"},
      {{"--api", "nccl", "--interface", "8"}, "--interface has no effect"},
      {{"--api", "nccl", "--device", "0"}, "--device has no effect"},
      {{"--api", "nccl", "--channels", "2"}, "--channels has no effect"},
      {{"--api", "nccl", "--chunk", "64K"}, "--chunk has no effect"},
      {{"--registered", "--chunk", "64K"}, "--chunk has no effect"},
      {{"--registered", "--channels", "2"}, "--channels has no effect"},
      {{"--data", "gaussian", "-d", "int8"}, "--data has no effect"},
      {{"--data", "gaussian", "-o", "max"}, "--data has no effect"},
      {{"--congestion", "cubic"}, "unknown option --congestion"},
  };
  for (const auto& [arguments, reason] : cases) {
    EXPECT_THAT(usage_error(arguments), HasSubstr(reason));
  }
  EXPECT_EQ(usage_error({"--data", "gaussian", "-d", "all"}), "");
  EXPECT_EQ(usage_error({"--poison", "--chunk", "64K", "--channels", "2"}), "");
}

TEST(Options, OptionWithoutEffectOnACollective_IsRefused) {
  EXPECT_THAT(usage_error({"--poison"}, Collective::all_gather), HasSubstr("--poison"));
  EXPECT_EQ(usage_error({"--poison", "--staging"}, Collective::all_gather), "");
  EXPECT_THAT(usage_error({"-o", "max"}, Collective::all_gather), HasSubstr("--op"));
  EXPECT_EQ(usage_error({"-o", "sum"}, Collective::all_gather), "");
  EXPECT_EQ(usage_error({"-o", "max"}, Collective::reduce_scatter), "");
}

TEST(Options, OptionWithoutEffectOnSendRecv_IsRefused) {
  const auto refused = [](std::vector<const char*> arguments, const char* option) {
    EXPECT_THAT(usage_error(std::move(arguments), Collective::send_recv),
                HasSubstr(std::string(option) + " has no effect"));
  };
  refused({"--congestion", "cubic"}, "--congestion");
  refused({"--pattern", "pingpong", "--outstanding", "4"}, "--outstanding");
  refused({"--pattern", "pair", "-a", "0"}, "--average");
  refused({"--api", "nccl", "--outstanding", "4"}, "--outstanding");
  refused({"--buffers", "2"}, "--buffers");
  refused({"--pattern", "pingpong", "--buffers", "2"}, "--buffers");
  EXPECT_EQ(usage_error({"--pattern", "pair", "--buffers", "2"}, Collective::send_recv), "");
  EXPECT_THAT(usage_error({"--pattern", "pair", "--buffers", "0"}, Collective::send_recv),
              HasSubstr("--buffers"));
  EXPECT_EQ(usage_error({"--reference", "--congestion", "cubic"}, Collective::send_recv), "");
}

TEST(Options, WithoutCollNet_ItsOptionsAreRefused) {
  EXPECT_NO_THROW(check_effects_without_collnet(parse({})));
  for (const char* option : {"--poison", "--staging", "--registered"}) {
    EXPECT_THROW(check_effects_without_collnet(parse({option})), Failure) << option;
  }
}

TEST(Options, UnknownOption_SuggestsTheNearest) {
  EXPECT_THAT(usage_error({"--minbyte", "8"}), HasSubstr("did you mean --minbytes?"));
  EXPECT_THAT(usage_error({"--frobnicate"}), testing::Not(HasSubstr("did you mean")));
  EXPECT_THAT(usage_error({"8"}), HasSubstr("unknown word 8"));
}

TEST(Agreement, Differences_NameRanksAndOptions) {
  const auto arguments = [](const char* size, const char* iterations) {
    return agreed_arguments(parse({"-b", size, "-e", "8M", "-n", iterations}), false);
  };
  EXPECT_EQ(differences({arguments("1M", "5"), arguments("1048576", "5")}), "");
  const std::string text =
      differences({arguments("1M", "5"), arguments("2M", "5"), arguments("1M", "5"),
                   arguments("2M", "5"), arguments("1M", "6")});
  EXPECT_THAT(text, HasSubstr("rank 1, 3: --minbytes 2M (rank 0: 1M)"));
  EXPECT_THAT(text, HasSubstr("rank 4: --iters 6 (rank 0: 5)"));
}

TEST(Agreement, ManyDifferences_AreCut) {
  std::vector<AgreedArguments> by_rank;
  for (int rank = 0; rank < 1000; ++rank) by_rank.push_back({{"--seed", std::to_string(rank)}});
  EXPECT_LT(differences(by_rank).size(), 1000u);
  EXPECT_THAT(differences(by_rank), HasSubstr("and more"));
}

TEST(Options, SendRecv_HasPatternsAndNoCollnet) {
  EXPECT_EQ(parse({"--pattern", "pingpong"}, Collective::send_recv).pattern, Pattern::pingpong);
  EXPECT_NE(usage_error({"--api", "collnet"}, Collective::send_recv), "");
  EXPECT_NE(usage_error({"--pattern", "pair"}, Collective::all_reduce), "");
}

TEST(Options, Help_ListsExitCodes) {
  try {
    (void)parse({"--help"});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::ok);
    EXPECT_THAT(failure.what(),
                HasSubstr("Exit status: 0 all results right, 1 wrong results, 2 usage"));
  }
}

TEST(Options, Sizes_GoByFactorOrStep) {
  EXPECT_THAT(sizes_of(parse({"-b", "8", "-e", "70", "-f", "2"})), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(sizes_of(parse({"-b", "10", "-e", "30", "-i", "10"})), ElementsAre(10, 20, 30));
  EXPECT_THAT(sizes_of(parse({"-b", "64M"})), ElementsAre(64u << 20));
}

TEST(Shape, GatherAndScatter_RoundPartsDownTo16Bytes) {
  const Shape gather = shape_of(Collective::all_gather, 1000, DataType::float32, 3);
  EXPECT_EQ(gather.send_count, 80u);
  EXPECT_EQ(gather.recv_count, 240u);
  EXPECT_EQ(reported_bytes(gather, DataType::float32), 960u);
  EXPECT_EQ(shape_of(Collective::reduce_scatter, 8, DataType::float32, 2).send_count, 0u);
  EXPECT_EQ(shape_of(Collective::all_reduce, 9, DataType::float16, 2).call_count, 4u);
}

TEST(Shape, BusFactor_IsNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::send_recv, 4), 1);
}

TEST(Failure, WorstOf_PutsNoDeviceFirst) {
  EXPECT_EQ(worst_of(ExitCode::ok, ExitCode::wrong_results), ExitCode::wrong_results);
  EXPECT_EQ(worst_of(ExitCode::runtime_error, ExitCode::wrong_results), ExitCode::runtime_error);
  EXPECT_EQ(worst_of(ExitCode::runtime_error, ExitCode::no_device), ExitCode::no_device);
  EXPECT_EQ(worst_of(ExitCode::ok, ExitCode::ok), ExitCode::ok);
}

}  // namespace
}  // namespace thinwire::perf
