// TrafficMeter: bytes that one rank really put on the wire, from the plugin's own counter or from
// the network interface's. Owner: the benchmark; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perf/runner.h"
#include "perf/session.h"

namespace thinwire::perf {

class TrafficMeter {
 public:
  // Finds out how many ranks share the interface; collective over the session.
  TrafficMeter(const Runner& runner, Session& session);

  // This rank's running total; nullopt where nothing counts. An interface's count is split evenly
  // among the ranks that share it.
  std::optional<double> total() const;
  // "plugin", "interface" or "none".
  const char* source() const { return source_; }

 private:
  const Runner& runner_;
  std::string interface_;
  int sharing_ = 1;
  const char* source_ = "none";
};

}  // namespace thinwire::perf
