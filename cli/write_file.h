// Files that commands write. Main thread only.
#pragma once

#include <string>

namespace thinwire::cli {

// Writes all of `text`; "-" is standard output. False after saying on standard error what failed.
bool write_file(const std::string& path, const std::string& text);

}  // namespace thinwire::cli
