// What `thinwire` says to a command line that it does not understand. Main thread only.
#pragma once

#include <CLI/CLI.hpp>

namespace thinwire::cli {

inline constexpr int kUsageStatus = 2;  // of the process; 1 means that a check failed

// Prints help or version where `error` stands for those, and returns 0; else says on standard error
// what is wrong, the word that it is about and the nearest one there is, and returns kUsageStatus.
int report_usage(const CLI::App& app, const CLI::ParseError& error, int argument_count);

}  // namespace thinwire::cli
