// The file form of the settings: KEY=value lines with # comments, read into assignments that are
// not judged yet. Used by config.cc only; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"

namespace thinwire {

// One NAME=value that was found, and where: "environment" or "FILE:LINE".
struct Assignment {
  std::string name;
  std::string value;
  std::string source;
};

enum class Presence : std::uint8_t { optional, required };

// Appends what `path` assigns. Every line that is no KEY=value is logged with file and line, and
// fails with Code::invalid_config after the rest is read. A file that is absent is no error where
// its presence is optional; a pipe, a device or more than 1 MiB always is. Blocks for disk reads.
Status read_config_file(const std::string& path, Presence presence, const Log& log,
                        std::vector<Assignment>& out);

}  // namespace thinwire
