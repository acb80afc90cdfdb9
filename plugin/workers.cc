#include "plugin/workers.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace thinwire::plugin {

namespace {
// Between two passes while work is in flight: short against a network round trip, long enough
// to leave the core to the application.
constexpr std::chrono::microseconds kBusyNap{50};
constexpr int kSpins = 64;
}  // namespace

Workers::Workers(int threads, std::int64_t idle_us) : idle_us_(idle_us) {
  for (int i = 0; i < threads; ++i) lanes_.push_back(std::make_unique<Lane>());
  try {
    for (auto& lane : lanes_) lane->thread = std::thread([this, &lane] { run(*lane); });
  } catch (const std::system_error& error) {
    started_ = Status(Code::system_error, "cannot start a worker thread", error.code().value());
    stop();
  }
}

void Workers::stop() {
  const bool forked = getpid() != owner_;
  for (auto& lane : lanes_) {
    if (forked) {
      // The threads stayed in the parent and may have held these locks: leave all of it alone.
      (void)lane.release();
      continue;
    }
    {
      const std::lock_guard lock(lane->mutex);
      lane->stopping = true;
    }
    lane->wake.notify_all();
    if (lane->thread.joinable()) lane->thread.join();
  }
  lanes_.clear();
}

void Workers::add(const void* owner, std::function<bool()> progress) {
  if (lanes_.empty()) return;
  const std::lock_guard lock(mutex_);
  Lane& lane = *lanes_[next_lane_++ % lanes_.size()];
  const std::lock_guard lane_lock(lane.mutex);
  lane.items.push_back({owner, std::move(progress)});
}

void Workers::remove(const void* owner) {
  for (auto& lane : lanes_) {
    const std::lock_guard lock(lane->mutex);
    std::erase_if(lane->items, [owner](const Item& item) { return item.owner == owner; });
  }
}

void Workers::kick() {
  for (auto& lane : lanes_) {
    {
      const std::lock_guard lock(lane->mutex);
      ++lane->kicks;
    }
    lane->wake.notify_one();
  }
}

// The lane's lock is held during a pass: that is what lets remove() promise what it does.
void Workers::run(Lane& lane) const {
  int spins = 0;
  std::unique_lock lock(lane.mutex);
  while (!lane.stopping) {
    bool busy = false;
    for (const Item& item : lane.items) busy |= item.progress();
    if (busy && ++spins < kSpins) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      continue;
    }
    spins = 0;
    const auto seen = lane.kicks;
    const auto nap = busy ? kBusyNap : std::chrono::microseconds(idle_us_);
    lane.wake.wait_for(lock, nap, [&] { return lane.stopping || lane.kicks != seen; });
  }
}

}  // namespace thinwire::plugin
