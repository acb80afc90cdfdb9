// Option rules: what the command line says must have an effect. Pure; main only.
#pragma once

#include <set>
#include <string>

#include "perf/options.h"

namespace thinwire::perf {

// Long names of the options that the command line gave: "--chunk".
using GivenOptions = std::set<std::string>;

// Throws Failure (usage) naming an option that was given and would be ignored, and why.
void check_effects(const Options& options, const GivenOptions& given);

// The same for what only CollNet calls can do, once it is known that the plugin has none of them.
// Only with --api left to the program: check_effects() has judged the rest.
void check_effects_without_collnet(const Options& options);

}  // namespace thinwire::perf
