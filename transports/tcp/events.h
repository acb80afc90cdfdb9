// What an Endpoint sleeps on: all its sockets (edge-triggered, registered once) and a wake-up
// from other threads. collect() and watch() belong to the endpoint's thread; wait() and wake()
// to any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "transports/tcp/socket.h"

namespace thinwire::transports::tcp {

class Stream;

class EventSet {
 public:
  EventSet();
  bool is_valid() const { return epoll_ && wake_; }

  // Marks the streams that have something to read or an end to see. Returns true when a socket
  // that is no stream (a listener's, one being set up) had an event. One system call.
  bool collect();

  // Blocks until a socket had an event that collect() did not take, wake() or announce_work() was
  // called, or `timeout_us` passed.
  void wait(std::int64_t timeout_us);

  // There is something for poll() to do beside the sockets' events.
  void announce_work();
  void clear_work() { work_.store(false); }
  // wait() returned since the last call: events are to be collected.
  bool take_woken() { return woken_.exchange(false); }

 private:
  friend class Watch;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::atomic<bool> work_{false};
  std::atomic<bool> woken_{true};
  std::atomic<int> waiting_{0};
};

// One socket's membership. Ends before the socket is closed, explicitly, because a forked child
// may hold a copy that would keep it in the set.
class Watch {
 public:
  Watch() = default;
  // `stream` is null for sockets that are no stream.
  Watch(EventSet& events, int fd, Stream* stream);
  Watch(Watch&& other) noexcept : events_(std::exchange(other.events_, nullptr)), fd_(other.fd_) {}
  Watch& operator=(Watch&& other) noexcept {
    std::swap(events_, other.events_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Watch();

 private:
  EventSet* events_ = nullptr;
  int fd_ = -1;
};

}  // namespace thinwire::transports::tcp
