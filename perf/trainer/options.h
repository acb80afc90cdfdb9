// What the trainer is asked to do. A value, parsed once before any process is forked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "perf/agreement.h"
#include "perf/options.h"

namespace thinwire::perf {

struct TrainerOptions {
  int epochs = 20;
  std::size_t batch = 64;  // images a step, of all ranks together
  std::size_t hidden = 128;
  float learning_rate = 0.1F;
  float momentum = 0.9F;
  std::uint64_t seed = 1;
  std::string compress;  // "": as the environment says
  Options common;        // plugin, local ranks, report, timeout
};

// What must be the same on all ranks.
AgreedArguments agreed_arguments(const TrainerOptions& options);

// Throws Failure: ExitCode::usage with what is wrong; ExitCode::ok with the text of --help.
TrainerOptions parse_trainer_options(int argc, const char* const* argv);

}  // namespace thinwire::perf
