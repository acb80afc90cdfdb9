// Reading a file that a setting or an argument names. Any thread; blocks on the file system.
#pragma once

#include <cstddef>
#include <string>

#include "base/log.h"
#include "base/status.h"

namespace thinwire::topology {

// The contents of a regular file of at most `most_bytes`. Else logs "`origin`: FILE why" and fails
// with Code::invalid_config. A pipe or a device is refused: it could keep init waiting for ever.
Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes,
                                   const char* origin, const Log& log);

}  // namespace thinwire::topology
