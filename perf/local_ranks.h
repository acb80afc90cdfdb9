// Local ranks: the processes behind -g, and each rank's place among all. Used by main only, before
// any thread exists.
#pragma once

#include <functional>

#include "base/launcher.h"
#include "perf/failure.h"
#include "perf/options.h"
#include "perf/session.h"

namespace thinwire::perf {

// What each rank does once all have met. The result is the process's exit code.
using RankBody = std::function<ExitCode(Session&)>;

// Forks options.local_ranks processes (none for 1), joins all ranks of all processes and runs
// `body` in each. A Failure of one rank is printed by it and told to the others. Returns the worst
// exit code of the local ranks; in a child it does not return. Once one rank has failed, those
// still there --grace and two seconds later (stopped, or stuck in the plugin) are killed.
ExitCode run_ranks(const Options& options, const LauncherInfo& launcher, const RankBody& body);

// For programs that call the plugin themselves: their buffers are their tensors, which is what
// error feedback goes by. An explicit setting stays. Before run_ranks().
void identify_tensors_by_buffer();

}  // namespace thinwire::perf
