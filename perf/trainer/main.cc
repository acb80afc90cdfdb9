// trainer: see --help.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/launcher.h"
#include "base/output.h"
#include "perf/agreement.h"
#include "perf/json_report.h"
#include "perf/local_ranks.h"
#include "perf/printing.h"
#include "perf/trainer/options.h"
#include "perf/trainer/training.h"

namespace thinwire::perf {
namespace {

using Json = nlohmann::ordered_json;

struct Weights {
  std::vector<std::string> hashes;  // by rank
  bool equal = true;
};

PluginEnvironment plugin_environment(const EnvironmentList& environment) {
  PluginEnvironment result;
  for (const auto& [name, value] : environment) {
    if (name == "NCCL_NET_PLUGIN") result.net_plugin = value;
    if (name == "NCCL_DEBUG") result.verbose = value == "INFO" || value == "TRACE";
  }
  return result;
}

// The gradient of this model is smaller than what compression is meant for, and is to be
// compressed all the same.
void ask_for_compression(const std::string& codec) {
  if (codec.empty()) return;
  setenv("THINWIRE_COMPRESS", codec.c_str(), 1);
  setenv("THINWIRE_COMPRESS_MIN_BYTES", "0", 1);
}

void print_preamble(const TrainerOptions& options, const PluginContext& context) {
  std::printf(
      "# %d ranks, digits 64-%zu-10, %d epochs, batch %zu, learning rate %g, momentum %g, "
      "seed %" PRIu64 "\n",
      context.session.ranks(), options.hidden, options.epochs, options.batch,
      static_cast<double>(options.learning_rate), static_cast<double>(options.momentum),
      options.seed);
  std::printf("# gradients through %s", context.path().c_str());
  if (!options.compress.empty()) {
    std::printf(", THINWIRE_COMPRESS=%s THINWIRE_COMPRESS_MIN_BYTES=0", options.compress.c_str());
  }
  std::printf("\n# epoch      loss  train accuracy  test accuracy\n");
}

void print_epoch(const Epoch& epoch) {
  std::printf("%7d  %8.4f  %14.4f  %13.4f\n", epoch.number, epoch.loss, epoch.train_accuracy,
              epoch.test_accuracy);
  require_output();
}

Weights compare_weights(const Training& training, Session& session) {
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016" PRIx64, training.weights_hash);
  Weights weights{session.all_gather(hash), true};
  for (const std::string& other : weights.hashes) weights.equal &= other == weights.hashes[0];
  return weights;
}

void print_weights(const Weights& weights) {
  for (std::size_t rank = 0; rank < weights.hashes.size(); ++rank) {
    std::printf("# rank %zu: weights %s\n", rank, weights.hashes[rank].c_str());
  }
  std::printf("# weights equal on all ranks: %s\n", weights.equal ? "yes" : "no");
}

std::string json_of(const TrainerOptions& options, const Training& training,
                    const Weights& weights) {
  Json epochs = Json::array();
  for (const Epoch& epoch : training.epochs) {
    epochs.push_back({{"epoch", epoch.number},
                      {"loss", epoch.loss},
                      {"train_accuracy", epoch.train_accuracy},
                      {"test_accuracy", epoch.test_accuracy}});
  }
  const Epoch& last = training.epochs.back();
  const Json json = {{"ranks", weights.hashes.size()},
                     {"compress", options.compress},
                     {"parameters", training.parameters},
                     {"epochs", epochs},
                     {"loss", last.loss},
                     {"train_accuracy", last.train_accuracy},
                     {"test_accuracy", last.test_accuracy},
                     {"weights", weights.hashes},
                     {"weights_equal", weights.equal}};
  return json.dump(2) + "\n";
}

ExitCode run(const TrainerOptions& options, const PluginEnvironment& environment,
             Session& session) {
  const std::string& json_path = options.common.json_path;
  session.agree([&] {
    if (session.is_root()) check_writable(json_path);
  });
  Watch watch(session, options.common.timeout_s, options.common.grace_s);
  PluginContext context(options.common, environment, session, watch, true);
  if (context.collnet() == nullptr) {
    throw Failure(ExitCode::no_device,
                  context.path() + " has no CollNet table, or no CollNet device on some rank")
        .set_quiet(!session.is_root());
  }
  if (session.is_root()) print_preamble(options, context);
  const Training training = train(options, context, [&](const Epoch& epoch) {
    if (session.is_root()) print_epoch(epoch);
  });
  const Weights weights = compare_weights(training, session);
  if (session.is_root()) {
    print_weights(weights);
    require_output();
    write_file(json_path, json_of(options, training, weights));
  }
  return weights.equal ? ExitCode::ok : ExitCode::wrong_results;
}

void print_warning(LogLevel level, const char*, int, const char* message) {
  if (level == LogLevel::warn) std::fprintf(stderr, "%s\n", message);
}

int start_trainer(int argc, char** argv) {
  std::optional<TrainerOptions> options;
  try {
    options = parse_trainer_options(argc, argv);
  } catch (const Failure& failure) {
    std::fprintf(failure.code() == ExitCode::ok ? stdout : stderr, "%s\n", failure.what());
    return static_cast<int>(failure.code());
  }
  ask_for_compression(options->compress);
  identify_tensors_by_buffer();
  const EnvironmentList environment = process_environment();
  const Log log(&print_warning);
  const Result<LauncherInfo> launcher = launcher_info(environment, log);
  if (!launcher.ok()) return static_cast<int>(ExitCode::usage);
  return static_cast<int>(run_ranks(options->common, launcher.value(), [&](Session& session) {
    require_same_arguments(session, agreed_arguments(*options));
    return run(*options, plugin_environment(environment), session);
  }));
}

}  // namespace
}  // namespace thinwire::perf

int main(int argc, char** argv) {
  using thinwire::perf::ExitCode;
  return thinwire::finish_output(thinwire::perf::start_trainer(argc, argv),
                                 static_cast<int>(ExitCode::runtime_error));
}
