// What an Endpoint sleeps on: its workers' event descriptors and a wake-up from other threads.
// wait() may run beside anything; the rest belongs to the endpoint's thread.
//
// UCX's descriptors report only what comes after ucp_worker_arm(), which must not run beside other
// calls on the worker. So wait() blocks only while everything was armed by the last poll();
// otherwise it asks the next poll() to arm and returns.
#pragma once

#include <atomic>
#include <cstdint>

namespace thinwire::transports {

class EventSet {
 public:
  EventSet();
  ~EventSet();
  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;
  bool is_valid() const { return epoll_ >= 0 && wake_ >= 0; }

  bool add(int fd);
  void remove(int fd);

  // Something is to be done, or was done, by the endpoint's thread: whoever waits returns, and
  // the next wait() does not block before the next arming.
  void interrupt();
  // The workers are about to be looked at.
  void begin_poll();
  // A wait() found nothing armed.
  bool wants_arming() const { return wanted_.load(); }
  // Every worker is armed since it last had nothing to do.
  void set_armed();

  void wait(std::int64_t timeout_us);

 private:
  int epoll_;
  int wake_;
  std::atomic<bool> armed_{false};
  std::atomic<bool> wanted_{false};
  std::atomic<bool> woken_{false};
  std::atomic<int> waiting_{0};
};

}  // namespace thinwire::transports
