// CapturedLog: a Log whose warnings a test can read. One test, one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"

namespace thinwire::testing {

class CapturedLog {
 public:
  CapturedLog() : log_(&CapturedLog::take) { lines().clear(); }

  const Log& log() const { return log_; }
  const std::vector<std::string>& warnings() const { return lines(); }
  std::string text() const {
    std::string all;
    for (const std::string& line : lines()) all += line + "\n";
    return all;
  }

 private:
  static std::vector<std::string>& lines() {
    static std::vector<std::string> kept;
    return kept;
  }
  static void take(LogLevel level, const char*, int, const char* message) {
    if (level == LogLevel::warn) lines().emplace_back(message);
  }

  Log log_;
};

}  // namespace thinwire::testing
