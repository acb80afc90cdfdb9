#include "perf/failure.h"

namespace thinwire::perf {

ExitCode worst_of(ExitCode a, ExitCode b) {
  for (const ExitCode code :
       {ExitCode::no_device, ExitCode::runtime_error, ExitCode::usage, ExitCode::wrong_results}) {
    if (a == code || b == code) return code;
  }
  return ExitCode::ok;
}

}  // namespace thinwire::perf
