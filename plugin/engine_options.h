// From the user's settings to the Engine's options, and to what must be equal on all ranks. Pure.
#pragma once

#include <string>

#include "base/config.h"
#include "collectives/engine.h"

namespace thinwire::plugin {

// All-reduces, all-gathers and reduce-scatters in flight on one communicator; NCCL has 64 at most.
inline constexpr int kMaxCollRequests = 128;

// Of a Config that passed compression::kSettingChecks.
collectives::EngineOptions engine_options(const Config& config);

// Why THINWIRE_GRID is no grid of the group's ranks, or hosts, where the schedule needs one; ""
// when all is well.
std::string grid_misfit(const Config& config, const collectives::Layout& layout);

// Whether NCCL is asked which tensor each all-reduce carries (plugin/profiler.h).
bool wants_identity(const Config& config);

// "NAME=value" lines: the library's version, its protocols' versions and every setting that decides
// what the ranks exchange. Long values are shortened, with a hash of what they were.
std::string settings_text(const Config& config);

}  // namespace thinwire::plugin
