#include "perf/printing.h"

#include <cstdio>

#include "base/output.h"
#include "perf/failure.h"

namespace thinwire::perf {

void require_output() {
  const std::string problem = flush_output();
  if (!problem.empty()) throw Failure(ExitCode::runtime_error, problem);
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  require_output();
}

}  // namespace thinwire::perf
