#include "perf/call_limit.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "perf/failure.h"
#include "perf/limits.h"

namespace thinwire::perf {

CallLimit::CallLimit(int rank, std::string call, int timeout_s)
    : text_("rank " + std::to_string(rank) + ": " + std::move(call) +
            " of the plugin has not returned within " + std::to_string(timeout_s) +
            " s (--timeout)") {
  if (timeout_s > 0) thread_ = std::thread([this, timeout_s] { watch(timeout_s); });
}

CallLimit::~CallLimit() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    returned_ = true;
  }
  returned_changed_.notify_one();
  thread_.join();
}

void CallLimit::watch(int timeout_s) {
  std::unique_lock lock(mutex_);
  const auto limit = std::chrono::seconds(timeout_s);
  if (returned_changed_.wait_for(lock, limit, [this] { return returned_; })) return;
  std::fprintf(stderr, "%s%s\n", text_.c_str(), descriptor_hint().c_str());
  std::_Exit(static_cast<int>(ExitCode::runtime_error));
}

}  // namespace thinwire::perf
