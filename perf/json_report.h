// The JSON report: nccl-tests' schema (version 3) with our own fields added. Owner: rank 0.
#pragma once

#include <string>
#include <vector>

#include "perf/options.h"
#include "perf/result.h"
#include "perf/table.h"

namespace thinwire::perf {

// Throws Failure (usage) where `path` cannot be written; creates it. Nothing where it is empty.
void check_writable(const std::string& path);

// The whole report as text. `start_time`: "2026-01-31 12:00:00".
std::string json_text(const Options& options, const RunInfo& info, const std::vector<Row>& rows,
                      const std::string& start_time);

// Throws Failure (runtime_error) where the file cannot be written. Nothing where `path` is empty.
void write_file(const std::string& path, const std::string& text);

// Now, as nccl-tests writes it.
std::string time_text();

}  // namespace thinwire::perf
