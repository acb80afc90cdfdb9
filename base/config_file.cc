#include "base/config_file.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace thinwire {
namespace {

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

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

bool is_quoted(std::string_view value) {
  constexpr std::string_view kQuotes = "\"'";
  return !value.empty() && (kQuotes.find(value.front()) != std::string_view::npos ||
                            kQuotes.find(value.back()) != std::string_view::npos);
}

// What is wrong with a line that holds something; "" where it is NAME=value, which is then split.
const char* split(std::string_view text, Assignment& out) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return "is not KEY=value";
  const std::string_view name = trimmed(text.substr(0, equals));
  const std::string_view value = trimmed(text.substr(equals + 1));
  if (name.empty()) return "has no name before the =";
  if (name.starts_with("export ") || name.starts_with("export\t")) {
    return "is shell syntax: leave out the word export";
  }
  if (!is_name(name)) return "has no name of letters, digits and _ before the =";
  if (is_quoted(value)) return "has a quoted value: leave out the quotes, no shell removes them";
  out.name = name;
  out.value = value;
  return "";
}

Status read_lines(std::istream& stream, const std::string& path, const Log& log,
                  std::vector<Assignment>& out) {
  Status status;
  int malformed = 0;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::string_view text = line;
    if (number == 1 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    text = trimmed(without_comment(text));
    if (text.empty()) continue;
    Assignment assignment;
    assignment.source = path + ":" + std::to_string(number);
    const std::string_view reason = split(text, assignment);
    if (reason.empty()) {
      out.push_back(std::move(assignment));
      continue;
    }
    THINWIRE_WARN(log, "%s: '%.80s' %s", assignment.source.c_str(), std::string(text).c_str(),
                  reason.data());
    status = Status(Code::invalid_config, "malformed line in the configuration file");
    if (++malformed == kMaxMalformedLines) break;
  }
  return status;
}

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

}  // namespace

Status read_config_file(const std::string& path, Presence presence, const Log& log,
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

}  // namespace thinwire
