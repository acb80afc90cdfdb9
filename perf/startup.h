// What every perf program does before its ranks exist: options and environment. Used by main only.
#pragma once

#include <functional>
#include <string>

#include "base/launcher.h"
#include "perf/local_ranks.h"
#include "perf/options.h"
#include "perf/payload.h"
#include "perf/plugin_context.h"

namespace thinwire::perf {

struct Startup {
  Options options;
  PluginEnvironment plugin;
  bool lossy = false;  // THINWIRE_COMPRESS asks for a lossy codec, or --data gaussian
  double lossy_bound = kLossyBound;
};

// Parses, joins the ranks, runs `body` in each; prints what goes wrong. Returns the exit status.
int start(Program program, Collective collective, int argc, char** argv,
          const std::function<ExitCode(const Startup&, Session&)>& body);

}  // namespace thinwire::perf
