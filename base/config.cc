#include "base/config.h"

#include <array>

#include "base/config_file.h"
#include "base/config_table.h"
#include "base/nearest.h"

namespace thinwire {
namespace {

std::string_view nearest_name(std::string_view name) {
  std::array<std::string_view, kSettings.size() + 1> names{kConfigFileVariable};
  for (std::size_t row = 0; row < kSettings.size(); ++row) names[row + 1] = kSettings[row].name;
  return nearest(name, names);
}

std::string why_ignored(const Assignment& assignment) {
  const std::string where = assignment.name + " (" + assignment.source + ") is ignored";
  if (assignment.name == kConfigFileVariable) {
    return where + ": only the environment can name a file";
  }
  std::string text = "unknown setting " + where;
  const std::string_view near = nearest_name(assignment.name);
  if (!near.empty()) text += "; the nearest known name is " + std::string(near);
  if (assignment.name.starts_with("NCCL_")) {
    text += "; NCCL itself reads its variables from the environment and nccl.conf";
  }
  return text;
}

std::string complaint_of(std::span<const TextCheck> checks, const Assignment& assignment) {
  for (const TextCheck& check : checks) {
    const bool concerned = check.setting == assignment.name && !assignment.value.empty();
    if (concerned) return check.complaint(assignment.value);
  }
  return "";
}

Status apply(const Assignment& assignment, const Log& log, std::span<const TextCheck> checks,
             ParsedConfig& parsed) {
  const Setting* setting = find_setting(assignment.name);
  if (setting == nullptr) {
    parsed.unknown.push_back(why_ignored(assignment));
    THINWIRE_WARN(log, "%s", parsed.unknown.back().c_str());
    return {};
  }
  std::string complaint = complaint_of(checks, assignment);
  if (complaint.empty() && assign(*setting, assignment.value, parsed.config)) {
    const auto row = static_cast<std::size_t>(setting - kSettings.data());
    parsed.sources[row] = assignment.value.empty() ? "default" : assignment.source;
    return {};
  }
  if (complaint.empty()) complaint = "it must be " + accepted_text(*setting);
  const bool ignored = belongs_to_nccl(*setting);
  parsed.sources[static_cast<std::size_t>(setting - kSettings.data())] =
      assignment.source + (ignored ? ", ignored: " : ", invalid: ") + assignment.value;
  THINWIRE_WARN(log, "%s=%s (%s) is %s: %s", assignment.name.c_str(), assignment.value.c_str(),
                assignment.source.c_str(), ignored ? "ignored" : "invalid", complaint.c_str());
  if (ignored) return {};
  return {Code::invalid_config, "a setting has an invalid value"};
}

// Rules between settings.
Status check_together(const Config& config, const Log& log) {
  if (config.tcp_window_bytes >= config.tcp_chunk_bytes) return {};
  THINWIRE_WARN(log,
                "THINWIRE_TCP_WINDOW_BYTES=%lld is invalid: it must be at least "
                "THINWIRE_TCP_CHUNK_BYTES=%lld",
                static_cast<long long>(config.tcp_window_bytes),
                static_cast<long long>(config.tcp_chunk_bytes));
  return {Code::invalid_config, "the TCP window is smaller than a chunk"};
}

void keep_first(Status& kept, Status status) {
  if (kept.ok()) kept = status;
}

}  // namespace

ParsedConfig read_config_sources(const EnvironmentList& environment, const Log& log,
                                 std::string_view system_file, std::span<const TextCheck> checks) {
  std::vector<Assignment> assignments;  // later ones override earlier ones
  Status status = read_config_file(std::string(system_file), Presence::optional, log, assignments);
  for (const auto& [name, value] : environment) {
    if (name == kConfigFileVariable && !value.empty()) {
      keep_first(status, read_config_file(value, Presence::required, log, assignments));
    }
  }
  for (const auto& [name, value] : environment) {
    const bool ours = name.starts_with("THINWIRE_") && name != kConfigFileVariable;
    if (ours || find_setting(name) != nullptr) assignments.push_back({name, value, "environment"});
  }

  ParsedConfig parsed;
  parsed.sources.fill("default");
  for (const Assignment& assignment : assignments) {
    keep_first(status, apply(assignment, log, checks, parsed));
  }
  keep_first(status, check_together(parsed.config, log));
  parsed.status = status;
  return parsed;
}

Result<ParsedConfig> parse_config_sources(const EnvironmentList& environment, const Log& log,
                                          std::string_view system_file,
                                          std::span<const TextCheck> checks) {
  ParsedConfig parsed = read_config_sources(environment, log, system_file, checks);
  if (!parsed.status.ok()) return parsed.status;
  return parsed;
}

Result<Config> parse_config(const EnvironmentList& environment, const Log& log,
                            std::span<const TextCheck> checks) {
  Result<ParsedConfig> parsed = parse_config_sources(environment, log, kSystemConfigFile, checks);
  if (!parsed.ok()) return parsed.status();
  return std::move(parsed).value().config;
}

std::vector<std::string> agreed_settings(const Config& config) {
  std::vector<std::string> lines;
  for (const Setting& setting : kSettings) {
    if (setting.agreed)
      lines.push_back(std::string(setting.name) + "=" + value_text(setting, config));
  }
  return lines;
}

}  // namespace thinwire
