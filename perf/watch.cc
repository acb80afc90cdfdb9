#include "perf/watch.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <utility>

#include "base/clock.h"
#include "perf/limits.h"

namespace thinwire::perf {
namespace {
constexpr std::int64_t kLookEveryNs = 20 * 1000 * 1000;
constexpr std::int64_t kSpinNs = 500 * 1000;
constexpr long kNapNs = 50 * 1000;
// Linux lengthens naps by another 50 us unless asked not to.
constexpr unsigned long kTimerSlackNs = 1000;
// A pass that took this long did work inside the plugin, though no request of ours is complete: one
// call may stand for many megabytes.
constexpr std::int64_t kWorkNs = 10 * 1000;
}  // namespace

Watch::Watch(Session& session, int timeout_s, int grace_s, bool spin)
    : session_(session), timeout_s_(timeout_s), grace_s_(grace_s), spin_(spin) {
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs, 0, 0, 0);
}

void Watch::idle() {
  const std::int64_t now_ns = SteadyClock().now_ns();
  const bool worked = now_ns - pass_began_ns_ >= kWorkNs;
  if (!std::exchange(idle_, true) || worked) idle_since_ns_ = now_ns;
  if (now_ns >= next_look_ns_) {
    next_look_ns_ = now_ns + kLookEveryNs;
    look_around();
  }
  if (!spin_ && now_ns - idle_since_ns_ >= kSpinNs) {
    const timespec nap{0, kNapNs};
    nanosleep(&nap, nullptr);
  }
  sched_yield();
  pass_began_ns_ = SteadyClock().now_ns();
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
    throw Failure(ExitCode::runtime_error, "no progress for " + std::to_string(timeout_s_) +
                                               " s (--timeout)" + descriptor_hint());
  }
}

}  // namespace thinwire::perf
