// Options: the command line of the perf programs, nccl-tests' flags and our own. A value, parsed
// once before any process is forked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/data_type.h"
#include "perf/collective.h"

namespace thinwire::perf {

enum class Api : std::uint8_t { automatic, net, collnet, nccl };
enum class Pattern : std::uint8_t { ring, pair, pingpong };
enum class Data : std::uint8_t { automatic, exact, gaussian };
// How the ranks' times become one; nccl-tests' -a.
enum class Average : std::uint8_t { rank0, mean, minimum, maximum };

struct Options {
  Collective collective = Collective::all_reduce;

  // Sizes, in bytes.
  std::size_t min_bytes = 32 << 20;
  std::size_t max_bytes = 32 << 20;
  std::size_t step_bytes = 1 << 20;
  int step_factor = 1;  // above 1 it counts instead of step_bytes

  int iterations = 20;
  int warmup = 1;
  int check = 1;  // verification runs per row, 0: none
  std::vector<PerfOp> ops = {PerfOp::sum};
  std::vector<DataType> types = {DataType::float32};
  int root = 0;
  int blocking = 0;
  Average average = Average::mean;
  std::string json_path;
  int local_ranks = 1;

  std::string plugin;  // "": found as --help says
  std::string device = "0";
  int interface = 12;  // the newest version of NCCL's tables to use
  Api api = Api::automatic;
  int channels = 1;
  std::size_t chunk_bytes = 0;  // 0: as NCCL chooses
  int outstanding = 8;
  int buffers = 0;  // that messages take in turns; 0: as many as are outstanding
  Pattern pattern = Pattern::ring;
  Data data = Data::automatic;
  bool registered = false;
  bool staging = false;
  bool poison = false;
  bool reference = false;
  bool separate_hosts = false;
  std::string congestion;  // TCP congestion control of wire_probe and --reference
  bool spin = false;       // poll without ever sleeping
  int timeout_s = 300;
  int grace_s = 15;

  std::vector<std::string> arguments;  // the whole command line, for the report
};

// What `program` is called with decides which options it has.
enum class Program : std::uint8_t { collective, wire_probe };

// Throws Failure: ExitCode::usage with what is wrong and the accepted range; ExitCode::ok with the
// text to print for --help and --version.
Options parse_options(Program program, Collective collective, int argc, const char* const* argv);

// Every size of the run, in order.
std::vector<std::size_t> sizes_of(const Options& options);

}  // namespace thinwire::perf
