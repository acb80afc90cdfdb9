// The `thinwire` command: information, checks and configuration for administrators.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/config_table.h"
#include "base/output.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/usage.h"

namespace thinwire::cli {
namespace {

void print_message(LogLevel level, const char*, int, const char* message) {
  if (level == LogLevel::warn) std::printf("message: %s\n", message);
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int run(int argument_count, char** arguments) {
  CLI::App app{"Thinwire, an NCCL network and CollNet plugin"};
  app.set_version_flag("--version", THINWIRE_VERSION);
  app.require_subcommand(1);

  FactsOptions options;
  bool markdown = false;
  bool file = false;
  auto* info = app.add_subcommand("info", "version, build, devices and settings");
  auto* doctor = app.add_subcommand("doctor", "check this host; exit status 1 when a check fails");
  doctor->add_option("--plugin", options.plugin, "the plugin's path");
  doctor->add_option("--nccl", options.nccl, "the path of libnccl.so.2");
  TopoOptions topo_options;
  auto* topo = app.add_subcommand("topo", "this machine: NUMA nodes, NICs, GPUs, distances");
  auto* from_xml = topo->add_option("--from-xml", topo_options.from_xml, "read hwloc XML instead");
  topo->add_option("--synthetic", topo_options.synthetic, "an hwloc synthetic description instead")
      ->excludes(from_xml);
  topo->add_option("--svg", topo_options.svg, "draw it into this file; -: standard output");
  topo->add_option("--nccl-xml", topo_options.nccl_xml,
                   "write it as NCCL_TOPO_FILE; -: standard output");
  topo->add_option("--check", topo_options.check, "say what is wrong in this NCCL_TOPO_FILE");
  SimOptions sim_options;
  auto* sim = add_sim_command(app, sim_options);
  PlanOptions plan_options;
  auto* plan = add_plan_command(app, plan_options);
  CalibrateOptions calibrate_options;
  auto* calibration = add_calibrate_command(app, calibrate_options);
  auto* config = app.add_subcommand("config", "the effective settings as NAME=value lines");
  auto* as_markdown = config->add_flag("--markdown", markdown, "all settings as a document");
  config->add_flag("--file", file, "a configuration file with every key commented out")
      ->excludes(as_markdown);
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error, argument_count);
  }

  const Log log(&print_message);
  if (*info) return show_info(log);
  if (*doctor) return run_doctor(options, log);
  if (*topo) return show_topology(topo_options, log);
  if (*plan) return explain_plan(plan_options, log);
  if (*calibration) return calibrate(calibrate_options);
  if (*sim) return run_simulation(sim_options);
  if (markdown) return print(configuration_markdown());
  if (file) return print(configuration_file());
  return show_settings(log);
}

}  // namespace
}  // namespace thinwire::cli

int main(int argument_count, char** arguments) {
  return thinwire::finish_output(thinwire::cli::run(argument_count, arguments), 1);
}
