#include "perf/startup.h"

#include <cstdio>

#include "base/config.h"
#include "base/output.h"
#include "perf/agreement.h"
#include "perf/local_ranks.h"

namespace thinwire::perf {
namespace {

std::string value_of(const EnvironmentList& environment, const std::string& name) {
  for (const auto& [key, value] : environment) {
    if (key == name) return value;
  }
  return {};
}

void print_warning(LogLevel level, const char*, int, const char* message) {
  if (level == LogLevel::warn) std::fprintf(stderr, "%s\n", message);
}

void drop(LogLevel, const char*, int, const char*) {}

// What the plugin will compress with; it complains itself where that is wrong.
Config config_of(const EnvironmentList& environment) {
  const Log silent(&drop);
  const Result<Config> config = parse_config(environment, silent);
  return config.ok() ? std::move(config).value() : Config();
}

// int4, fp8 over several hops and what is sparse lose a large part of single elements by design.
// Fed back errors are of the sums before, which iterations in place let grow.
double lossy_bound_of(const Config& config) {
  if (config.ef == FeedbackChoice::all) return kNoLossyBound;
  for (const char* coarse : {"topk", "int4", "fp8"}) {
    if (config.compress.find(coarse) != std::string::npos) return kNoLossyBound;
  }
  return kLossyBound;
}

int run_program(Program program, Collective collective, int argc, char** argv,
                const std::function<ExitCode(const Startup&, Session&)>& body) {
  Startup startup;
  try {
    startup.options = parse_options(program, collective, argc, argv);
  } catch (const Failure& failure) {
    std::fprintf(failure.code() == ExitCode::ok ? stdout : stderr, "%s\n", failure.what());
    return static_cast<int>(failure.code());
  }
  if (startup.options.api != Api::nccl) identify_tensors_by_buffer();
  const EnvironmentList environment = process_environment();
  const std::string debug = value_of(environment, "NCCL_DEBUG");
  startup.plugin.net_plugin = value_of(environment, "NCCL_NET_PLUGIN");
  startup.plugin.verbose = debug == "INFO" || debug == "TRACE";
  const Data data = startup.options.data;
  const Config config = config_of(environment);
  startup.lossy_bound = lossy_bound_of(config);
  startup.lossy = data == Data::gaussian || (data == Data::automatic && config.compress != "none");
  const Log log(&print_warning);
  const Result<LauncherInfo> launcher = launcher_info(environment, log);
  if (!launcher.ok()) return static_cast<int>(ExitCode::usage);
  return static_cast<int>(run_ranks(startup.options, launcher.value(), [&](Session& session) {
    require_same_arguments(session, agreed_arguments(startup.options, startup.lossy));
    return body(startup, session);
  }));
}

}  // namespace

int start(Program program, Collective collective, int argc, char** argv,
          const std::function<ExitCode(const Startup&, Session&)>& body) {
  return finish_output(run_program(program, collective, argc, argv, body),
                       static_cast<int>(ExitCode::runtime_error));
}

}  // namespace thinwire::perf
