#include "transports/event_set.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace thinwire::transports {

EventSet::EventSet()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (is_valid()) add(wake_);
}

EventSet::~EventSet() {
  if (wake_ >= 0) ::close(wake_);
  if (epoll_ >= 0) ::close(epoll_);
}

bool EventSet::add(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void EventSet::remove(int fd) { ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

void EventSet::interrupt() {
  armed_.store(false);
  if (waiting_.load() == 0 || woken_.exchange(true)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void EventSet::begin_poll() {
  armed_.store(false);
  if (!woken_.exchange(false)) return;
  std::uint64_t count;
  [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
}

void EventSet::set_armed() {
  wanted_.store(false);
  armed_.store(true);
}

// The order of the two atomics decides: either this sees `armed_` false, or interrupt() sees this
// thread in `waiting_` and writes.
void EventSet::wait(std::int64_t timeout_us) {
  waiting_.fetch_add(1);
  if (armed_.load()) {
    pollfd ready{epoll_, POLLIN, 0};
    const timespec timeout{timeout_us / 1'000'000, timeout_us % 1'000'000 * 1'000};
    ::ppoll(&ready, 1, &timeout, nullptr);
  } else {
    wanted_.store(true);
  }
  waiting_.fetch_sub(1);
}

}  // namespace thinwire::transports
