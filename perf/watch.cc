#include "perf/watch.h"

#include <sched.h>

namespace thinwire::perf {
namespace {
constexpr std::uint32_t kPassesPerLook = 2048;
}

Watch::Watch(Session& session, int timeout_s, int grace_s)
    : session_(session), timeout_s_(timeout_s), grace_s_(grace_s) {}

void Watch::idle() {
  sched_yield();
  if (++passes_ % kPassesPerLook == 0) look_around();
}

void Watch::look_around() {
  if (moved_) {
    moved_ = false;
    still_until_ = timeout_s_ > 0 ? Deadline::after_seconds(timeout_s_) : Deadline::never();
  }
  if (!lost_) {
    lost_ = session_.lost_peer();
    if (lost_) grace_until_ = Deadline::after_seconds(grace_s_);
  }
  if (lost_ && grace_until_.passed()) {
    throw Failure(ExitCode::runtime_error, *lost_ + "; the plugin has not reported it within " +
                                               std::to_string(grace_s_) + " s");
  }
  if (still_until_.passed()) {
    throw Failure(ExitCode::runtime_error,
                  "no progress for " + std::to_string(timeout_s_) + " s (--timeout)");
  }
}

}  // namespace thinwire::perf
