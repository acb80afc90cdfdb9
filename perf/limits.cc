#include "perf/limits.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace thinwire::perf {
namespace {

rlim_t soft_limit(__rlimit_resource_t resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// A failing library has closed a few again before its error is seen.
constexpr rlim_t kFewLeft = 8;
constexpr rlim_t kMaxLooked = 1 << 16;

}  // namespace

std::string error_text(int error) {
  const std::string text = std::strerror(error);
  if (error == EMFILE) {
    return text + " (this process may have " + std::to_string(soft_limit(RLIMIT_NOFILE)) +
           ": ulimit -n)";
  }
  if (error == ENFILE) return text + " (of the whole machine: sysctl fs.file-max)";
  if (error == EAGAIN) {
    const rlim_t limit = soft_limit(RLIMIT_NPROC);
    return text + " (processes: ulimit -u is " +
           (limit == RLIM_INFINITY ? "unlimited, see the cgroup's pids.max"
                                   : std::to_string(limit)) +
           ")";
  }
  return text;
}

bool is_exhaustion(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

std::string descriptor_hint() {
  const rlim_t limit = soft_limit(RLIMIT_NOFILE);
  if (limit > kMaxLooked) return {};
  rlim_t used = 0;
  for (int fd = 0; fd < static_cast<int>(limit); ++fd) used += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  if (used + kFewLeft < limit) return {};
  return "; " + std::to_string(used) + " of the " + std::to_string(limit) +
         " file descriptors that this process may have are in use: raise ulimit -n";
}

}  // namespace thinwire::perf
