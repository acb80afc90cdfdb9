#include "perf/trainer/options.h"

#include <CLI/CLI.hpp>

#include "perf/failure.h"

namespace thinwire::perf {
namespace {

constexpr const char* kFooter =
    "\nRanks: -g local processes, or the processes that mpirun, srun or torchrun started.\n"
    "The plugin: --plugin PATH or NAME; else ../lib/libnccl-net-thinwire.so next to the program;\n"
    "else NCCL_NET_PLUGIN; else libnccl-net-thinwire.so on the library path.\n"
    "\nExit status: 0 trained, weights equal on all ranks; 1 usage; 2 weights differ; 3 no "
    "device;\n"
    "4 runtime error.\n";

void add_options(CLI::App& app, TrainerOptions& o) {
  app.add_option("--epochs", o.epochs, "passes over the training images")
      ->check(CLI::Range(1, 100000));
  app.add_option("--batch", o.batch, "images a step, of all ranks together")
      ->check(CLI::Range(1, 100000));
  app.add_option("--hidden", o.hidden, "units of the hidden layer")->check(CLI::Range(1, 100000));
  app.add_option("--lr", o.learning_rate, "learning rate")->check(CLI::Range(0.0, 100.0));
  app.add_option("--momentum", o.momentum, "momentum")->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", o.seed, "of the first weights and of the order of the images");
  app.add_option("--compress", o.compress,
                 "sets THINWIRE_COMPRESS (none, fp16, int8) and lets it take messages of any size");
  app.add_option("--plugin", o.common.plugin, "an NCCL net plugin with CollNet: a path, or a name");
  app.add_option("-J,--json", o.common.json_path, "write the figures as JSON to this file");
  app.add_option("-g,--ranks", o.common.local_ranks, "local ranks, one process each")
      ->check(CLI::Range(1, 64));
  app.add_option("-T,--timeout", o.common.timeout_s,
                 "seconds without progress before it ends, 0: never")
      ->check(CLI::Range(0, 1000000));
}

}  // namespace

TrainerOptions parse_trainer_options(int argc, const char* const* argv) {
  TrainerOptions options;
  options.common.registered = true;
  options.common.arguments.assign(argv, argv + argc);
  CLI::App app(
      "Trains a small network on handwritten digits, data-parallel: every step's gradient\n"
      "is all-reduced through the loaded plugin's CollNet table.");
  app.footer(kFooter);
  app.option_defaults()->always_capture_default();
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    throw Failure(ExitCode::ok, app.help());
  } catch (const CLI::ParseError& error) {
    throw Failure(ExitCode::usage,
                  std::string(error.what()) + "\nRun with --help for the options.");
  }
  return options;
}

}  // namespace thinwire::perf
