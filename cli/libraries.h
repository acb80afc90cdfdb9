// Finding libnccl. Main thread; loads and unloads libraries.
#pragma once

#include <string>

#include "cli/facts.h"

namespace thinwire::cli {

// `asked`, or when empty the loader's libnccl.so.2, else the first in a Python environment.
NcclFacts find_nccl(const std::string& asked, const EnvironmentList& environment);

}  // namespace thinwire::cli
