// The subcommands of `thinwire`. Main thread only; each returns the exit status.
#pragma once

#include <string>

#include "cli/facts.h"

namespace thinwire::cli {

// Version, build, SIMD targets, devices and every setting with its source.
int show_info(const Log& log);

// Checks this host and says what to do.
int run_doctor(const FactsOptions& options, const Log& log);

// The effective settings as NAME=value lines.
int show_settings(const Log& log);

// Files to read or to write; "" none.
struct TopoOptions {
  std::string from_xml;
  std::string synthetic;
  std::string svg;
  std::string nccl_xml;
  std::string check;
};
// The machine as text, or as the files asked for; with `check` only what is wrong in that file
// (status 1 when there are errors).
int show_topology(const TopoOptions& options, const Log& log);

}  // namespace thinwire::cli
