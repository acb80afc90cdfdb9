// Reading single values of sysfs. Any thread; blocks on the file system.
#pragma once

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace thinwire::topology {

// "" when there is no such file.
inline std::string sysfs_line(const std::filesystem::path& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

// Decimal, or hexadecimal after 0x.
inline long sysfs_number(const std::filesystem::path& path, long otherwise) {
  const std::string text = sysfs_line(path);
  const bool is_hex = text.starts_with("0x");
  long value = 0;
  const char* begin = text.data() + (is_hex ? 2 : 0);
  const auto [stop, error] =
      std::from_chars(begin, text.data() + text.size(), value, is_hex ? 16 : 10);
  return error == std::errc() && stop != begin ? value : otherwise;
}

// Names in a folder, sorted; none when it cannot be read.
inline std::vector<std::string> sysfs_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// Where a link leads, all links resolved; "" when it leads nowhere.
inline std::filesystem::path sysfs_target(const std::filesystem::path& path) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  return error ? std::filesystem::path() : target;
}

}  // namespace thinwire::topology
