// Workers: the progress threads. They drive whatever is registered besides the callers' threads,
// which is what answers heartbeats while the application is busy elsewhere. None by default.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace thinwire::plugin {

// Something with pending work. Both calls come from a worker thread and synchronise themselves.
class Progressing {
 public:
  virtual ~Progressing() = default;
  // One non-blocking pass; true while there is work in flight.
  virtual bool progress() = 0;
};

class Workers {
 public:
  // `threads` may be 0. An idle worker wakes every `idle_us`, or when kicked.
  Workers(int threads, std::int64_t idle_us);
  ~Workers() { stop(); }

  // Joins every thread, except in a forked child, which has none. Idempotent.
  void stop();

  void add(Progressing* item);
  // Returns once no worker is or will be inside item->progress().
  void remove(Progressing* item);
  // New work: wakes the idle. Cheap without threads.
  void kick();

  bool none() const { return lanes_.empty(); }

 private:
  struct Lane {
    std::mutex mutex;
    std::condition_variable wake;
    std::vector<Progressing*> items;
    std::uint64_t kicks = 0;
    bool stopping = false;
    std::thread thread;
  };
  void run(Lane& lane) const;

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::size_t next_lane_ = 0;
  std::mutex mutex_;
  const std::int64_t idle_us_;
  const pid_t owner_ = getpid();
};

}  // namespace thinwire::plugin
