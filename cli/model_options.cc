#include "cli/model_options.h"

#include <CLI/CLI.hpp>

namespace thinwire::cli {

CLI::App* add_sim_command(CLI::App& app, SimOptions& options) {
  auto* sim = app.add_subcommand("sim", "all-reduce on a simulated cluster, schedule by schedule");
  sim->add_option("--ranks", options.ranks, "2 to 4096")->capture_default_str();
  sim->add_option("--hosts", options.hosts, "hosts of ranks / hosts ranks each; 0: one a rank");
  sim->add_option("--rails", options.rails, "NICs a host")->capture_default_str();
  sim->add_option("--racks", options.racks, "racks of hosts / racks hosts")->capture_default_str();
  sim->add_option("--oversubscription", options.oversubscription,
                  "of a leaf's uplinks: hosts' rate / uplinks' rate")
      ->capture_default_str();
  sim->add_option("--fan-in", options.fan_in,
                  "times that a NIC takes for what waited behind another sender's message")
      ->capture_default_str();
  sim->add_option("--gbit", options.gbit, "a NIC's rate for payload, Gbit/s")
      ->capture_default_str();
  sim->add_option("--local-gbit", options.local_gbit, "a rank to others of its host, Gbit/s")
      ->capture_default_str();
  sim->add_option("--latency-us", options.latency_us, "one way, between hosts of a rack")
      ->capture_default_str();
  sim->add_option("--spine-us", options.spine_us, "added between racks")->capture_default_str();
  sim->add_option("--local-us", options.local_us, "within a host")->capture_default_str();
  sim->add_option("--message-us", options.message_us, "thread's time for a message, at each end")
      ->capture_default_str();
  sim->add_option("--reduce-gbytes", options.reduce_gbytes, "GB/s a thread adds")
      ->capture_default_str();
  sim->add_option("--encode-gbytes", options.encode_gbytes, "GB/s of elements a thread encodes")
      ->capture_default_str();
  sim->add_option("--decode-gbytes", options.decode_gbytes, "GB/s of elements a thread decodes")
      ->capture_default_str();
  sim->add_option("--size", options.bytes, "of the vector of float32, e.g. 64M")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64M");
  sim->add_option("--piece", options.piece_bytes, "THINWIRE_PIECE_BYTES; 0: as auto would")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("0");
  sim->add_option("--wire-bytes", options.wire_bytes, "of one element; below 4: by a codec")
      ->capture_default_str();
  sim->add_option("--codec", options.codec, "one that makes it so: int8, fp16, ...");
  sim->add_option("--schedule", options.schedule, "only those whose name begins so");
  sim->add_option("--grid", options.grid, "sides of the grid, e.g. 4x4")->delimiter('x');
  sim->add_flag("--cyclic", options.cyclic, "rank r on host r mod hosts");
  sim->add_flag("--ignore-hosts", options.ignore_hosts, "schedules that know of no hosts");
  sim->add_flag("--csv", options.csv, "comma-separated values");
  return sim;
}

CLI::App* add_plan_command(CLI::App& app, PlanOptions& options) {
  auto* plan = app.add_subcommand("plan", "which schedule an all-reduce of float32 gets, and why");
  plan->add_option("--ranks", options.ranks, "2 to 4096")->capture_default_str();
  plan->add_option("--hosts", options.hosts, "hosts of ranks / hosts ranks each; 0: one a rank");
  plan->add_option("--racks", options.racks, "racks of hosts / racks hosts")->capture_default_str();
  plan->add_option("--size", options.bytes, "of the vector, e.g. 64M")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64M");
  plan->add_option("--piece", options.piece_bytes, "THINWIRE_PIECE_BYTES")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("128K");
  plan->add_option("--codec", options.codec, "THINWIRE_COMPRESS: int8, rules, ...");
  plan->add_option("--schedule", options.schedule, "this one instead of the fastest");
  plan->add_option("--grid", options.grid, "sides of the grid, e.g. 4x4")->delimiter('x');
  plan->add_option("--tuning-file", options.tuning_file, "of thinwire calibrate");
  plan->add_option("--rank", options.rank, "print this rank's steps");
  plan->add_option("--svg", options.svg,
                   "draw who sends to whom, round by round, into this file; -: standard output");
  return plan;
}

CLI::App* add_calibrate_command(CLI::App& app, CalibrateOptions& options) {
  auto* calibrate =
      app.add_subcommand("calibrate", "measure for plan --tuning-file: seconds of full load");
  calibrate->add_option("--output", options.output, "the file to write; -: standard output");
  auto* connect = calibrate->add_option(
      "--connect", options.connect, "ADDRESS:PORT of another host's --listen: measure the link");
  calibrate->add_option("--listen", options.listen_port, "answer on this port, and measure nothing")
      ->excludes(connect);
  return calibrate;
}

}  // namespace thinwire::cli
