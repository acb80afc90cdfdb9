#include "transports/ucx/departed.h"

namespace thinwire::transports::ucx {

namespace {
constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kPatienceNs = 2'000 * kMillisecondNs;
constexpr std::int64_t kLastPatienceNs = 250 * kMillisecondNs;
}  // namespace

Departed::~Departed() {
  const std::lock_guard lock(mutex_);
  const std::int64_t until_ns = clock_.now_ns() + kLastPatienceNs;
  while (!remains_.empty() && clock_.now_ns() < until_ns) progress_locked();
}

void Departed::take(std::unique_ptr<Endpoint> control, std::unique_ptr<EndpointState> state) {
  const std::lock_guard lock(mutex_);
  remains_.push_back({std::move(control), std::move(state), clock_.now_ns() + kPatienceNs});
  progress_locked();
}

void Departed::progress() {
  if (count_.load() == 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) progress_locked();
}

void Departed::progress_locked() {
  const std::int64_t now_ns = clock_.now_ns();
  std::erase_if(remains_, [&](Remains& each) {
    return each.state->finish_departing(now_ns) || now_ns >= each.until_ns;
  });
  count_.store(remains_.size());
}

}  // namespace thinwire::transports::ucx
