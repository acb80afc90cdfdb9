// The text output: nccl-tests' table, with our columns to the right of its own. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "perf/options.h"
#include "perf/result.h"

namespace thinwire::perf {

struct RunInfo {
  std::string program;
  std::string transport;  // Runner::description()
  std::string plugin_path;
  std::string wire_source;  // TrafficMeter::source()
  std::vector<RankInfo> ranks;
};

// Which of our own columns the table has.
struct TableColumns {
  bool errors = false;     // lossy: maximum and RMS relative error
  bool reference = false;  // bandwidth of the plain TCP stream, and ours over it
};

// Every text ends with a newline.
std::string preamble_text(const Options& options, const RunInfo& info);
std::string header_text(const TableColumns& columns);
std::string row_text(const Row& row, int root, const TableColumns& columns);
std::string footer_text(const RunInfo& info, const std::vector<Row>& rows);

// `value` in at most `width` characters, as nccl-tests does: fewer decimals, then an exponent.
std::string fitted(double value, int width);

}  // namespace thinwire::perf
