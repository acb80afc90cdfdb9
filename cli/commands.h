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

// Why so many ranks cannot be so many hosts and racks; "": they can. hosts 0: one a rank.
std::string complaint_about_groups(int ranks, int hosts, int racks);

struct SimOptions;  // cli/model_options.h
// All-reduce on a simulated cluster, a line a schedule.
int run_simulation(const SimOptions& options);

struct PlanOptions;
// What THINWIRE_SCHEDULE=auto weighs and takes, a rank's steps, a drawing.
int explain_plan(const PlanOptions& options, const Log& log);

struct CalibrateOptions;
// Measures this machine, and a link to another one, for a tuning file. Blocks for seconds.
int calibrate(const CalibrateOptions& options);

}  // namespace thinwire::cli
