// The tuning file, which `thinwire calibrate` writes. Any thread; blocks on
// the file system.
#pragma once

#include <string>

#include "base/log.h"
#include "base/status.h"
#include "collectives/cost_constants.h"

namespace thinwire::collectives {

// The built-in constants for an empty path. A file that cannot be read or is malformed is logged
// ("ORIGIN: FILE:LINE: what") and fails with Code::invalid_config. `origin`: who named it, a
// setting or an option.
Result<CostConstants> read_tuning_file(const std::string& path, const char* origin, const Log& log);

}  // namespace thinwire::collectives
