// Plain TCP helpers of the bootstrap, the reference stream and wire_probe: non-blocking sockets and
// waits with deadlines. Any thread; every failure is a Failure that names host and port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace thinwire::perf {

// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

struct HostPort {
  std::string host;
  int port = 0;
};

// A moment that a wait ends at; Deadline::never() does not.
class Deadline {
 public:
  static Deadline after_seconds(double seconds);
  static Deadline never() { return Deadline(); }
  bool passed() const;
  // For poll(2): at most `cap`, 0 when passed.
  int poll_ms(int cap) const;

 private:
  std::int64_t at_ns_ = -1;
};

// Listens on host:port (port 0: any; see bound_to). A host that is not local is listened for on all
// addresses.
Socket listen_on(const HostPort& where);
// Resolves and connects, trying again until `deadline`: the listener may not be there yet.
Socket connect_to(const HostPort& where, Deadline deadline);
// -1 inside where nobody has connected yet; never blocks. Failure where no descriptor is left.
Socket try_accept(const Socket& listener);

HostPort bound_to(const Socket& socket);  // its own address
void set_no_delay(const Socket& socket);
// Sets TCP_CONGESTION; nothing where `name` is empty.
void set_congestion(const Socket& socket, const std::string& name);

// Bytes moved now, 0 when it would block, -1 at the end of the stream or on a dead connection.
std::ptrdiff_t try_send(const Socket& socket, const void* data, std::size_t bytes);
std::ptrdiff_t try_recv(const Socket& socket, void* data, std::size_t bytes);

}  // namespace thinwire::perf
