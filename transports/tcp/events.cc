#include "transports/tcp/events.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "transports/tcp/stream.h"

namespace thinwire::transports::tcp {

EventSet::EventSet()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!is_valid()) return;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = this;  // tells it from sockets
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
}

bool EventSet::collect() {
  epoll_event events[64];
  bool others = false;
  int count;
  do {
    count = ::epoll_wait(epoll_.get(), events, 64, 0);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.ptr == this) continue;
      auto* stream = static_cast<Stream*>(events[i].data.ptr);
      if (stream == nullptr) {
        others = true;
        continue;
      }
      if (events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) stream->readable = true;
      if (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) stream->hung_up = true;
    }
  } while (count == 64);
  return others;
}

// poll(2) on the epoll descriptor does not take events out of it: only collect() does, in the
// endpoint's own thread, so none is lost between the two.
void EventSet::wait(std::int64_t timeout_us) {
  waiting_.fetch_add(1);
  if (!work_.load()) {
    pollfd ready{epoll_.get(), POLLIN, 0};
    const timespec timeout{timeout_us / 1'000'000, timeout_us % 1'000'000 * 1'000};
    ::ppoll(&ready, 1, &timeout, nullptr);
  }
  waiting_.fetch_sub(1);
  woken_.store(true);
}

void EventSet::announce_work() {
  if (work_.exchange(true) || waiting_.load() == 0) return;
  const std::uint64_t one = 1;
  // The counter cannot be full: it is written at most once between two collect().
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

Watch::Watch(EventSet& events, int fd, Stream* stream) : events_(&events), fd_(fd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = stream;
  ::epoll_ctl(events.epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

Watch::~Watch() {
  if (events_ != nullptr) ::epoll_ctl(events_->epoll_.get(), EPOLL_CTL_DEL, fd_, nullptr);
}

}  // namespace thinwire::transports::tcp
