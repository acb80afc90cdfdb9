// Workers: the progress threads. They drive whatever is registered besides the callers' threads,
// which is what answers heartbeats while the application is busy elsewhere. None by default.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "topology/cpu_set.h"

namespace thinwire::plugin {

class Workers {
 public:
  // `threads` may be 0. An idle worker wakes every `idle_us`, or when kicked. Where the system
  // refuses a thread there are none, and started() says why. `cores` has the cores near each
  // device: workers are shared out among the devices and stay on their cores; without, or where the
  // system refuses that, they run anywhere.
  Workers(int threads, std::int64_t idle_us, const std::vector<topology::CpuSet>& cores = {});
  Status started() const { return started_; }
  ~Workers() { stop(); }

  // Joins every thread, except in a forked child, which has none. Idempotent.
  void stop();

  // From now on a worker calls `progress`: one non-blocking pass that synchronises itself, true
  // while there is work in flight. A function rather than a base class, so that remove() may be
  // called from the owner's destructor. The worker is one of those near `device`.
  void add(const void* owner, std::function<bool()> progress, int device = 0);
  // Returns once no worker is or will be inside the owner's function.
  void remove(const void* owner);
  // New work: wakes the idle. Cheap without threads.
  void kick();

  bool none() const { return lanes_.empty(); }

 private:
  struct Item {
    const void* owner;
    std::function<bool()> progress;
  };
  struct Lane {
    std::mutex mutex;
    std::condition_variable wake;
    std::vector<Item> items;
    std::uint64_t kicks = 0;
    bool stopping = false;
    topology::CpuSet cores;  // empty: any
    std::thread thread;
  };
  void share_out(const std::vector<topology::CpuSet>& cores);
  void run(Lane& lane) const;

  Status started_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t devices_ = 1;
  std::size_t next_lane_ = 0;
  std::mutex mutex_;
  const std::int64_t idle_us_;
  const pid_t owner_ = getpid();
};

}  // namespace thinwire::plugin
