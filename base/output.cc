#include "base/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace thinwire {

std::string flush_output() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return {};
  // An earlier failure leaves only its mark.
  const std::string reason = errno != 0 ? std::strerror(errno) : "some of it is lost";
  return "standard output cannot be written: " + reason;
}

int finish_output(int status, int failed) {
  const std::string problem = flush_output();
  if (problem.empty()) return status;
  std::fprintf(stderr, "%s\n", problem.c_str());
  return status != 0 ? status : failed;
}

}  // namespace thinwire
