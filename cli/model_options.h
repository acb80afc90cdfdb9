// The options of the commands about schedules: plan, sim, calibrate. Values; main thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace thinwire::cli {

// A simulated cluster and what it reduces, in the command's units.
struct SimOptions {
  int ranks = 16;
  int hosts = 0;  // 0: one a rank
  int rails = 1;
  int racks = 1;
  double oversubscription = 1;
  double fan_in = 1;
  double gbit = 100;
  double local_gbit = 100;
  double latency_us = 10;
  double spine_us = 1;
  double local_us = 1;
  double message_us = 1;
  double reduce_gbytes = 10;
  double encode_gbytes = 6;
  double decode_gbytes = 8;
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::uint64_t piece_bytes = 0;  // 0: what auto would give each schedule
  double wire_bytes = 4;          // a float32; below 4: as a codec would
  std::string codec;              // instead of wire_bytes
  std::string schedule;           // the beginning of the names that are simulated
  std::vector<int> grid;
  bool cyclic = false;
  bool ignore_hosts = false;
  bool csv = false;
};
struct PlanOptions {
  int ranks = 16;
  int hosts = 0;  // 0: one a rank
  int racks = 1;
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::uint64_t piece_bytes = 128 * 1024;
  std::string codec;     // THINWIRE_COMPRESS
  std::string schedule;  // one of the names; "": what auto takes
  std::vector<int> grid;
  std::string tuning_file;
  std::string svg;
  int rank = -1;  // whose steps are printed; -1: nobody's
};

struct CalibrateOptions {
  std::string output = "-";
  std::string connect;  // ADDRESS:PORT of the other one
  int listen_port = 0;  // 0: no
};

// Each adds its subcommand; `options` outlives the parse.
CLI::App* add_sim_command(CLI::App& app, SimOptions& options);
CLI::App* add_plan_command(CLI::App& app, PlanOptions& options);
CLI::App* add_calibrate_command(CLI::App& app, CalibrateOptions& options);

}  // namespace thinwire::cli
