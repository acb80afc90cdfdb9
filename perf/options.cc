#include "perf/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "perf/failure.h"
#include "perf/option_rules.h"
#include "perf/size_text.h"
#include "perf/usage.h"

namespace thinwire::perf {
namespace {

constexpr const char* kFooter =
    "\nSizes take K, M, G (powers of 1024). Ranks: -g local processes, times the processes that\n"
    "mpirun, srun or torchrun started (RANK/WORLD_SIZE/MASTER_ADDR/MASTER_PORT,\n"
    "OMPI_COMM_WORLD_*, PMI_*, SLURM_*).\n"
    "The plugin: --plugin PATH or NAME; else ../lib/libnccl-net-thinwire.so next to the program;\n"
    "else NCCL_NET_PLUGIN; else libnccl-net-thinwire.so on the library path.\n"
    "With THINWIRE_COMPRESS set, sums of float, half and bfloat16 are checked against a float64\n"
    "reference of Gaussian data; errors are relative to the RMS of the exact result.\n"
    "Every wait ends after --timeout seconds without progress; when one rank has failed, the "
    "others\n"
    "have --grace seconds to end by themselves, then those that -g started are killed.\n"
    "\nExit status: 0 all results right, 1 wrong results, 2 usage (also: no such plugin or "
    "device,\n"
    "different options on the ranks), 3 no device (or no GPU), 4 runtime error (a rank died, the\n"
    "plugin reported an error, no progress, output lost).\n";

// The options that need more than CLI11's conversion, as text.
struct Texts {
  std::string min_bytes, max_bytes, step_bytes, chunk;
  std::string op = "sum";
  std::string type = "float";
};

template <class Choice>
using Choices = std::vector<std::pair<std::string, Choice>>;

// An option whose value is one of a few words.
template <class Choice>
void add_choice(CLI::App& app, const char* flags, Choice& target, const Choices<Choice>& choices,
                const char* help) {
  app.add_option_function<std::string>(
         flags,
         [&target, choices, flags](const std::string& text) {
           std::string accepted;
           for (const auto& [word, choice] : choices) {
             if (word == text) {
               target = choice;
               return;
             }
             accepted += (accepted.empty() ? "" : ", ") + word;
           }
           throw CLI::ValidationError(flags, text + " is unknown; accepted: " + accepted);
         },
         help)
      ->type_name("WORD");
}

void add_common(CLI::App& app, Options& o, Texts& t) {
  app.add_option("-b,--minbytes", t.min_bytes,
                 "smallest size [32M; wire_probe: bytes per iteration, 64M]");
  app.add_option("-n,--iters", o.iterations, "timed iterations")->check(CLI::Range(1, 1000000000));
  app.add_option("-w,--warmup_iters", o.warmup, "warm-up iterations")
      ->check(CLI::Range(0, 1000000000));
  app.add_option("-J,--output_file,--json", o.json_path, "write the results as JSON to this file");
  app.add_option("-g,--ngpus", o.local_ranks, "local ranks, one process each")
      ->check(CLI::Range(1, 1024));
  app.add_option("-T,--timeout", o.timeout_s,
                 "end with an error after this many seconds without progress, 0: never [300]")
      ->check(CLI::Range(0, 1000000));
  app.add_option(
         "--grace", o.grace_s,
         "seconds the plugin has to report a dead rank, and a rank to end after another has "
         "failed [15]")
      ->check(CLI::Range(0, 1000000));
}

void add_congestion(CLI::App& app, Options& o) {
  app.add_option("--congestion", o.congestion,
                 "TCP congestion control of the plain TCP streams [the system's]");
}

void add_sizes_and_types(CLI::App& app, Options& o, Texts& t) {
  app.add_option("-e,--maxbytes", t.max_bytes, "largest size [32M, or minbytes if larger]");
  app.add_option("-i,--stepbytes", t.step_bytes, "size increment [1M]");
  app.add_option("-f,--stepfactor", o.step_factor, "size factor; above 1 it replaces -i")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("-c,--check", o.check, "verification runs per row, 0: none")
      ->check(CLI::Range(0, 1000000));
  app.add_option("-o,--op", t.op, "sum, prod, min, max, avg or all [sum]");
  app.add_option("-d,--datatype", t.type, "a type of NCCL's or all [float]");
  app.add_option("-r,--root", o.root, "printed only: none of these collectives has one")
      ->check(CLI::Range(-1, 1 << 20));
  app.add_option("-z,--blocking", o.blocking,
                 "0: back to back, 1: wait and barrier after each iteration, 2: wait, no barrier, "
                 "3: as 1, the time without the barrier")
      ->check(CLI::Range(0, 3));
  add_choice<Average>(app, "-a,--average", o.average,
                      {{"0", Average::rank0},
                       {"1", Average::mean},
                       {"2", Average::minimum},
                       {"3", Average::maximum}},
                      "time of 0: rank 0, 1: mean of the ranks, 2: shortest, 3: longest [1]");
  add_choice<Data>(
      app, "--data", o.data,
      {{"auto", Data::automatic}, {"exact", Data::exact}, {"gaussian", Data::gaussian}},
      "auto, exact or gaussian [auto: gaussian for lossy sums]");
}

void add_plugin(CLI::App& app, Options& o, Texts& t) {
  app.add_option("--plugin", o.plugin, "any NCCL net plugin: a path, or a name as NCCL takes it");
  app.add_option("--interface", o.interface,
                 "use the plugin's newest table up to this version of NCCL's interface [12]")
      ->check(CLI::Range(6, 12));
  app.add_option(
      "--device", o.device,
      "device of the plugin: index or name, or several joined by + to use them as one [0]");
  Choices<Api> apis{{"net", Api::net}, {"nccl", Api::nccl}};
  if (o.collective != Collective::send_recv) apis.emplace_back("collnet", Api::collnet);
  add_choice(app, "--api", o.api, apis,
             "net: NCCL's ring over isend/irecv; collnet: the plugin's collectives (default "
             "where it has them); nccl: libnccl itself, needs GPUs");
  app.add_option("--chunk", t.chunk, "bytes per chunk and channel [as NCCL chooses]");
  app.add_flag("--spin", o.spin,
               "poll without pause as NCCL's progress thread does; otherwise nap when nothing "
               "has moved for half a millisecond");
  app.add_flag("--separate-hosts", o.separate_hosts,
               "give each rank its own NCCL_HOSTID: several hosts on one machine");
}

void add_send_recv(CLI::App& app, Options& o) {
  add_choice<Pattern>(
      app, "--pattern", o.pattern,
      {{"ring", Pattern::ring}, {"pair", Pattern::pair}, {"pingpong", Pattern::pingpong}},
      "ring: send right, receive left; pair: even ranks send to the next odd one, the longest "
      "time counts; pingpong: time is half a round trip [ring]");
  app.add_option(
         "--outstanding", o.outstanding,
         "requests in flight per connection; NCCL has at most 32, a plugin need not take more")
      ->check(CLI::Range(1, 256));
  app.add_option("--buffers", o.buffers,
                 "pair: buffers that the messages take in turns, 64 MiB of them at most; 1 sends "
                 "all from one buffer into one, as ucx_perftest and ib_write_bw do [as many as "
                 "are outstanding]")
      ->check(CLI::Range(1, 256));
  app.add_flag("--reference", o.reference,
               "time a plain single-stream TCP copy loop in turns and print the ratio");
  add_congestion(app, o);
}

void add_collective(CLI::App& app, Options& o) {
  app.add_option("--channels", o.channels, "NCCL channels")->check(CLI::Range(1, 32));
  app.add_flag("--registered", o.registered,
               "collnet: user buffers, one call per maxCollBytes, exact size");
  app.add_flag("--staging", o.staging,
               "collnet: copy through NCCL's staging buffers (a GPU kernel's work there)");
  app.add_flag("--poison", o.poison,
               "collnet: fill what lies past the end of the tensor with NaN and huge values");
}

std::size_t size_option(const std::string& text, const char* flag, std::size_t fallback) {
  if (text.empty()) return fallback;
  const auto size = parse_size(text);
  if (!size) {
    fail_usage(std::string(flag) + " " + text + " is no size; accepted: 0 to " +
               size_text(kMaxBytes) + ", with K, M or G");
  }
  return *size;
}

void read_sizes(const Texts& t, Options& o) {
  o.min_bytes = size_option(t.min_bytes, "--minbytes", o.min_bytes);
  o.max_bytes = size_option(t.max_bytes, "--maxbytes", std::max(o.min_bytes, o.max_bytes));
  o.step_bytes = size_option(t.step_bytes, "--stepbytes", o.step_bytes);
  o.chunk_bytes = size_option(t.chunk, "--chunk", 0);
  if (o.min_bytes > o.max_bytes) {
    fail_usage("--minbytes " + size_text(o.min_bytes) + " is larger than --maxbytes " +
               size_text(o.max_bytes) + "; accepted: 0 to maxbytes");
  }
  if (o.step_factor == 1 && o.step_bytes == 0) {
    fail_usage("--stepbytes 0 never gets anywhere; accepted: 1 to " + size_text(kMaxBytes));
  }
  if (o.step_factor > 1 && o.min_bytes == 0 && o.max_bytes > 0) {
    fail_usage("--minbytes 0 with a --stepfactor stays 0; accepted: 1 to maxbytes");
  }
  constexpr std::size_t kMinChunk = 64;
  constexpr std::size_t kMaxChunk = 1 << 30;
  const bool chunk_fits = o.chunk_bytes >= kMinChunk && o.chunk_bytes <= kMaxChunk;
  if (!t.chunk.empty() && (!chunk_fits || o.chunk_bytes % kMinChunk != 0)) {
    fail_usage("--chunk " + t.chunk + "; accepted: multiples of 64 bytes up to 1G");
  }
}

void read_types(const Texts& t, Options& o) {
  if (t.type == "all") {
    o.types.clear();
    for (int i = 0; i < kDataTypeCount; ++i) o.types.push_back(static_cast<DataType>(i));
  } else if (const auto type = type_of_name(t.type)) {
    o.types = {*type};
  } else {
    std::string names;
    for (int i = 0; i < kDataTypeCount; ++i) {
      names += std::string(thinwire::name_of(static_cast<DataType>(i))) + ", ";
    }
    fail_usage("--datatype " + t.type + " is unknown; accepted: " + names + "all");
  }
  if (t.op == "all") {
    o.ops.clear();
    for (int i = 0; i < kPerfOpCount; ++i) o.ops.push_back(static_cast<PerfOp>(i));
  } else if (const auto op = op_of_name(t.op)) {
    o.ops = {*op};
  } else {
    fail_usage("--op " + t.op + " is unknown; accepted: sum, prod, max, min, avg, all");
  }
}

void check_combination(const Options& o) {
  if (o.reference && o.api == Api::nccl) fail_usage("--reference goes with --api net");
  if (o.registered && (o.staging || o.poison)) {
    fail_usage("--registered passes exact sizes: it excludes --staging and --poison");
  }
  if (o.collective == Collective::send_recv && o.api == Api::nccl && o.pattern != Pattern::ring) {
    fail_usage("--api nccl knows --pattern ring only");
  }
}

GivenOptions given_options(const CLI::App& app) {
  GivenOptions given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    for (const std::string& name : option->get_lnames()) given.insert("--" + name);
  }
  return given;
}

const char* description_of(Program program, Collective collective) {
  if (program == Program::wire_probe) {
    return "The wire limit: every rank streams plain TCP to its right neighbour, all at once.";
  }
  constexpr const char* kTexts[] = {
      "All-reduce performance and correctness through an NCCL network plugin.",
      "All-gather performance and correctness through an NCCL network plugin.",
      "Reduce-scatter performance and correctness through an NCCL network plugin.",
      "Point-to-point performance and correctness through an NCCL network plugin."};
  return kTexts[static_cast<int>(collective)];
}

}  // namespace

Options parse_options(Program program, Collective collective, int argc, const char* const* argv) {
  Options options;
  options.collective = collective;
  options.arguments.assign(argv, argv + argc);
  Texts texts;
  if (program == Program::wire_probe) {
    options.min_bytes = 64 << 20;
    options.iterations = 2;
  }
  CLI::App app(description_of(program, collective));
  app.footer(kFooter);
  add_common(app, options, texts);
  if (program == Program::collective) {
    add_sizes_and_types(app, options, texts);
    add_plugin(app, options, texts);
    if (collective == Collective::send_recv) {
      add_send_recv(app, options);
    } else {
      add_collective(app, options);
    }
  } else {
    add_congestion(app, options);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    fail_parse(app, error);
  }
  read_sizes(texts, options);
  read_types(texts, options);
  check_combination(options);
  if (program == Program::collective) check_effects(options, given_options(app));
  return options;
}

std::vector<std::size_t> sizes_of(const Options& options) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = options.min_bytes; size <= options.max_bytes;) {
    sizes.push_back(size);
    if (options.step_factor > 1) {
      if (size == 0) break;
      size *= static_cast<std::size_t>(options.step_factor);
    } else {
      size += options.step_bytes;
    }
  }
  return sizes;
}

}  // namespace thinwire::perf
