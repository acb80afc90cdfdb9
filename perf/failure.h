// Failure: why a perf program ends early. Thrown anywhere below main and caught there only, so that
// every guard (registration, connection, library) is undone on the way. A value; any thread.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace thinwire::perf {

// What the programs exit with; --help lists them.
enum class ExitCode : int {
  ok = 0,
  wrong_results = 1,
  usage = 2,
  no_device = 3,
  runtime_error = 4,
};

class Failure final : public std::exception {
 public:
  Failure(ExitCode code, std::string message) : message_(std::move(message)), code_(code) {}

  const char* what() const noexcept override { return message_.c_str(); }
  ExitCode code() const { return code_; }
  // Set where another rank has already printed the same message.
  bool quiet() const { return quiet_; }
  Failure& set_quiet(bool quiet) {
    quiet_ = quiet;
    return *this;
  }

 private:
  std::string message_;
  ExitCode code_;
  bool quiet_ = false;
};

// Of several ranks' exit codes the one that says most: no device, then errors, then wrong results.
ExitCode worst_of(ExitCode a, ExitCode b);

}  // namespace thinwire::perf
