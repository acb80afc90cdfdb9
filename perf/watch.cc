#include "perf/watch.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"

namespace thinwire::perf {
namespace {
constexpr std::uint32_t kPassesPerLook = 1024;
constexpr std::int64_t kSpinNs = 500 * 1000;
constexpr long kNapNs = 50 * 1000;
}  // namespace

Watch::Watch(Session& session, int timeout_s, int grace_s, bool spin)
    : session_(session), timeout_s_(timeout_s), grace_s_(grace_s), spin_(spin) {}

void Watch::idle() {
  sched_yield();
  if (!spin_) nap();
  if (++passes_ % kPassesPerLook == 0) look_around();
}

void Watch::nap() {
  const std::int64_t now_ns = SteadyClock().now_ns();
  if (idle_passes_++ == 0) idle_since_ns_ = now_ns;
  if (now_ns - idle_since_ns_ < kSpinNs) return;
  const timespec length{0, kNapNs};
  nanosleep(&length, nullptr);
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
