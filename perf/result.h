// Rows: what the benchmark measured, for the table and the JSON report. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perf/collective.h"

namespace thinwire::perf {

// One way of running a case, over all ranks.
struct Measurement {
  double time_us = 0;
  double alg_bw = 0;  // GB/s, 10^9
  double bus_bw = 0;
  std::optional<std::int64_t> wrong;  // over all ranks; nullopt: not checked
  std::string first_wrong;            // "rank 1: element 17: got 3, expected 4"
  std::optional<double> max_error;    // lossy only, worst rank
  std::optional<double> rms_error;
  std::optional<double> wire_bytes;    // per sending rank and iteration, their mean
  std::optional<std::uint64_t> hash;   // of the first receiving rank's output
  std::optional<bool> hashes_equal;    // only where all outputs are to be equal
  std::optional<double> reference_us;  // the plain TCP stream's time
};

struct Row {
  std::size_t bytes = 0;
  std::size_t count = 0;
  DataType type = DataType::float32;
  PerfOp op = PerfOp::sum;
  bool has_op = true;
  std::optional<Measurement> out_of_place;
  std::optional<Measurement> in_place;
};

struct RankInfo {
  int rank = 0;
  int pid = 0;
  std::string host;
  std::string device;
};

struct Summary {
  std::int64_t out_of_bounds = 0;  // measurements with wrong elements or unequal hashes
  double average_bus_bandwidth = 0;
};

Summary summarize(const std::vector<Row>& rows);

}  // namespace thinwire::perf
