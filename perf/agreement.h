// Agreement: all ranks of a run were started with the same options. A rank with another size or
// type would make the others wait, or compare with the wrong result.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "perf/options.h"
#include "perf/session.h"

namespace thinwire::perf {

// What must be the same on all ranks, by the option's name, with its value as text.
using AgreedArguments = std::vector<std::pair<std::string, std::string>>;

// Of a perf program; `lossy`: whether its sums are checked against a float64 reference.
AgreedArguments agreed_arguments(const Options& options, bool lossy);

// What differs from rank 0, a line for each group of equal ranks; "" where nothing does.
std::string differences(const std::vector<AgreedArguments>& by_rank);

// Collective over the session. Throws Failure (usage) on every rank, quiet on all but rank 0, where
// ranks differ: which ranks, in which option, with what values.
void require_same_arguments(Session& session, const AgreedArguments& mine);

}  // namespace thinwire::perf
