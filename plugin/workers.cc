#include "plugin/workers.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "topology/binding.h"

namespace thinwire::plugin {

namespace {
// Between two passes while work is in flight: short against a network round trip, long enough
// to leave the core to the application.
constexpr std::chrono::microseconds kBusyNap{50};
constexpr int kSpins = 64;
}  // namespace

Workers::Workers(int threads, std::int64_t idle_us, const std::vector<topology::CpuSet>& cores)
    : devices_(std::max<std::size_t>(cores.size(), 1)), idle_us_(idle_us) {
  for (int i = 0; i < threads; ++i) lanes_.push_back(std::make_unique<Lane>());
  if (!cores.empty()) share_out(cores);
  try {
    for (auto& lane : lanes_) lane->thread = std::thread([this, &lane] { run(*lane); });
  } catch (const std::system_error& error) {
    started_ = Status(Code::system_error, "cannot start a worker thread", error.code().value());
    stop();
  }
}

// Lane i is near the devices that equal i modulo the smaller number of both. One that serves a
// device of which nothing is known runs anywhere.
void Workers::share_out(const std::vector<topology::CpuSet>& cores) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    topology::CpuSet& own = lanes_[i]->cores;
    bool is_known = true;
    for (std::size_t device = i % cores.size(); device < cores.size(); device += lanes_.size()) {
      own = own | cores[device];
      is_known &= !cores[device].empty();
    }
    if (!is_known) own = {};
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

void Workers::add(const void* owner, std::function<bool()> progress, int device) {
  if (lanes_.empty()) return;
  const std::lock_guard lock(mutex_);
  const std::size_t first = static_cast<std::size_t>(device) % std::min(devices_, lanes_.size());
  const std::size_t near = (lanes_.size() - first - 1) / devices_ + 1;
  Lane& lane = *lanes_[first + next_lane_++ % near * devices_];
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
  (void)topology::pin_this_thread(lane.cores);
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
