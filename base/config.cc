#include "base/config.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/config_table.h"

namespace thinwire {
namespace {

struct Assignment {
  std::string name;
  std::string value;
  std::string source;
};

// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string_view nearest_name(std::string_view name) {
  std::string_view best = kConfigFileVariable;
  for (const Setting& setting : kSettings) {
    if (edit_distance(name, setting.name) < edit_distance(name, best)) best = setting.name;
  }
  return best;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// A line without its comment: from a # that begins the line or follows a blank.
std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return line.substr(0, i);
    }
  }
  return line;
}

constexpr std::uintmax_t kMaxFileBytes = 1 << 20;
constexpr int kMaxMalformedLines = 10;  // reported; a file with more is something else

Status read_lines(std::istream& stream, const std::string& path, const Log& log,
                  std::vector<Assignment>& out) {
  Status status;
  int malformed = 0;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string_view text = trimmed(without_comment(line));
    if (text.empty()) continue;
    const std::string source = path + ":" + std::to_string(number);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
      THINWIRE_WARN(log, "%s: '%.80s' is not KEY=value", source.c_str(), std::string(text).c_str());
      status = Status(Code::invalid_config, "malformed line in the configuration file");
      if (++malformed == kMaxMalformedLines) return status;
      continue;
    }
    out.push_back({std::string(trimmed(text.substr(0, equals))),
                   std::string(trimmed(text.substr(equals + 1))), source});
  }
  return status;
}

enum class Presence { optional, required };

// A pipe or a device could keep init waiting for ever.
Status check_file(const std::string& path, const Log& log) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)) return {};
  const bool regular = std::filesystem::is_regular_file(status);
  if (regular && std::filesystem::file_size(path, error) <= kMaxFileBytes) return {};
  THINWIRE_WARN(log, "configuration file %s: %s", path.c_str(),
                regular ? "longer than 1 MiB" : "not a regular file");
  return {Code::invalid_config, "a configuration file is not a short regular file"};
}

Status read_file(const std::string& path, Presence presence, const Log& log,
                 std::vector<Assignment>& out) {
  if (const Status status = check_file(path, log); !status.ok()) return status;
  errno = 0;
  std::ifstream stream(path);
  // A directory opens, and fails at the first read.
  if (stream.is_open()) stream.peek();
  if (!stream.is_open() || stream.bad()) {
    const int error = errno;
    if (presence == Presence::optional && error == ENOENT) return {};
    THINWIRE_WARN(log, "configuration file %s cannot be read: %s", path.c_str(),
                  std::strerror(error));
    if (presence == Presence::optional) return {};
    return {Code::invalid_config, "the file that THINWIRE_CONF names cannot be read", error};
  }
  return read_lines(stream, path, log, out);
}

void warn_unknown(const Assignment& assignment, const Log& log) {
  THINWIRE_WARN(log, "unknown setting %s (%s) is ignored; the nearest known name is %s",
                assignment.name.c_str(), assignment.source.c_str(),
                std::string(nearest_name(assignment.name)).c_str());
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
    warn_unknown(assignment, log);
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

Result<ParsedConfig> parse_config_sources(const EnvironmentList& environment, const Log& log,
                                          std::string_view system_file,
                                          std::span<const TextCheck> checks) {
  std::vector<Assignment> assignments;  // later ones override earlier ones
  Status status = read_file(std::string(system_file), Presence::optional, log, assignments);
  for (const auto& [name, value] : environment) {
    if (name == kConfigFileVariable && !value.empty()) {
      keep_first(status, read_file(value, Presence::required, log, assignments));
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
  if (!status.ok()) return status;
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
