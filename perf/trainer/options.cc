#include "perf/trainer/options.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "perf/failure.h"
#include "perf/usage.h"

namespace thinwire::perf {
namespace {

constexpr const char* kFooter =
    "\nRanks: -g local processes, or the processes that mpirun, srun or torchrun started.\n"
    "The plugin: --plugin PATH or NAME; else ../lib/libnccl-net-thinwire.so next to the program;\n"
    "else NCCL_NET_PLUGIN; else libnccl-net-thinwire.so on the library path.\n"
    "\nExit status: 0 trained, weights equal on all ranks; 1 weights differ; 2 usage (also: no\n"
    "such plugin, different options on the ranks); 3 no device; 4 runtime error.\n";

// CLI11's own Range lets NaN through: it compares less than nothing.
CLI::Validator finite_range(float minimum, float maximum) {
  const std::string accepted =
      CLI::detail::to_string(minimum) + " to " + CLI::detail::to_string(maximum);
  return CLI::Validator(
      [minimum, maximum, accepted](const std::string& text) {
        float value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        const bool is_number = error == std::errc() && stop == end;
        if (is_number && value >= minimum && value <= maximum) return std::string();
        return text + " is not accepted: " + accepted;
      },
      accepted);
}

void take_seed(const std::string& text, std::uint64_t& seed) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc() && stop == end) return;
  throw CLI::ValidationError("--seed", text + " is not accepted: 0 to 18446744073709551615");
}

void add_options(CLI::App& app, TrainerOptions& o) {
  app.add_option("--epochs", o.epochs, "passes over the training images")
      ->check(CLI::Range(1, 100000));
  app.add_option("--batch", o.batch, "images a step, of all ranks together")
      ->check(CLI::Range(1, 100000));
  app.add_option("--hidden", o.hidden, "units of the hidden layer")->check(CLI::Range(1, 100000));
  app.add_option("--lr", o.learning_rate, "learning rate")->check(finite_range(0, 100));
  app.add_option("--momentum", o.momentum, "momentum")->check(finite_range(0, 1));
  app.add_option_function<std::string>(
      "--seed", [&o](const std::string& text) { take_seed(text, o.seed); },
      "of the first weights and of the order of the images [1]");
  app.add_option("--compress", o.compress,
                 "sets THINWIRE_COMPRESS, and lets it take messages of any size");
  app.add_option("--plugin", o.common.plugin, "an NCCL net plugin with CollNet: a path, or a name");
  app.add_option("-J,--json", o.common.json_path, "write the figures as JSON to this file");
  app.add_option("-g,--ranks", o.common.local_ranks, "local ranks, one process each")
      ->check(CLI::Range(1, 64));
  app.add_option("-T,--timeout", o.common.timeout_s,
                 "seconds without progress before it ends, 0: never")
      ->check(CLI::Range(0, 1000000));
}

}  // namespace

AgreedArguments agreed_arguments(const TrainerOptions& o) {
  return {{"program", "trainer"},
          {"--epochs", std::to_string(o.epochs)},
          {"--batch", std::to_string(o.batch)},
          {"--hidden", std::to_string(o.hidden)},
          {"--lr", std::to_string(o.learning_rate)},
          {"--momentum", std::to_string(o.momentum)},
          {"--seed", std::to_string(o.seed)},
          {"--compress", o.compress.empty() ? "not given" : o.compress}};
}

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
  } catch (const CLI::ParseError& error) {
    fail_parse(app, error);
  }
  return options;
}

}  // namespace thinwire::perf
