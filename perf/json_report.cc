#include "perf/json_report.h"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "perf/failure.h"
#include "perf/limits.h"

namespace thinwire::perf {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json measurement_json(const std::optional<Measurement>& measured) {
  if (!measured) return nullptr;
  const Measurement& m = *measured;
  Json json = {{"time", m.time_us},
               {"alg_bw", m.alg_bw},
               {"bus_bw", m.bus_bw},
               {"nwrong", or_null(m.wrong)},
               {"max_rel_error", or_null(m.max_error)},
               {"rms_rel_error", or_null(m.rms_error)},
               {"bytes_sent_per_rank", or_null(m.wire_bytes)},
               {"hashes_equal", or_null(m.hashes_equal)}};
  char hash[17] = "";
  if (m.hash) {
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(*m.hash));
  }
  json["output_hash"] = m.hash ? Json(hash) : Json(nullptr);
  if (m.reference_us) {
    json["reference_time"] = *m.reference_us;
    json["reference_ratio"] = m.time_us > 0 ? *m.reference_us / m.time_us : 0;
  }
  if (!m.first_wrong.empty()) json["first_wrong"] = m.first_wrong;
  return json;
}

Json config_json(const Options& o, const RunInfo& info) {
  Json json = {{"nthreads", 1},
               {"ngpus", o.local_ranks},
               {"minimum_bytes", o.min_bytes},
               {"maximum_bytes", o.max_bytes},
               {"warmup_iters", o.warmup},
               {"iterations", o.iterations},
               {"aggregated_iterations", 1},
               {"validation", o.check},
               {"blocking_collectives", o.blocking != 0},
               {"transport", info.transport},
               {"plugin", info.plugin_path},
               {"bytes_sent_source", info.wire_source}};
  if (o.step_factor > 1) {
    json["step_factor"] = o.step_factor;
  } else {
    json["step_bytes"] = o.step_bytes;
  }
  Json devices = Json::array();
  for (const RankInfo& rank : info.ranks) {
    devices.push_back({{"rank", rank.rank},
                       {"pid", rank.pid},
                       {"hostname", rank.host},
                       {"device_info", rank.device}});
  }
  json["devices"] = devices;
  return json;
}

}  // namespace

void check_writable(const std::string& path) {
  if (path.empty()) return;
  if (!std::ofstream(path, std::ios::app)) {
    throw Failure(ExitCode::usage,
                  "--output_file " + path + " cannot be written: " + error_text(errno));
  }
}

std::string json_text(const Options& options, const RunInfo& info, const std::vector<Row>& rows,
                      const std::string& start_time) {
  Json results = Json::array();
  for (const Row& row : rows) {
    results.push_back({{"size", row.bytes},
                       {"count", row.count},
                       {"type", thinwire::name_of(row.type)},
                       {"redop", row.has_op ? name_of(row.op) : "none"},
                       {"root", std::to_string(options.root)},
                       {"out_of_place", measurement_json(row.out_of_place)},
                       {"in_place", measurement_json(row.in_place)},
                       {"actual_iterations", options.iterations},
                       {"experiment_name", info.program}});
  }
  const Summary summary = summarize(rows);
  const Json json = {
      {"version", 3},
      {"start_time", start_time},
      {"args", options.arguments},
      {"config", config_json(options, info)},
      {"results", results},
      {"out_of_bounds", {{"count", summary.out_of_bounds}, {"okay", summary.out_of_bounds == 0}}},
      {"average_bus_bandwidth", {{"bandwidth", summary.average_bus_bandwidth}}},
      {"end_time", time_text()}};
  return json.dump(2) + "\n";
}

void write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    throw Failure(ExitCode::runtime_error, path + " cannot be written: " + error_text(errno));
  }
}

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace thinwire::perf
