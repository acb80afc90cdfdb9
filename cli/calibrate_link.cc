#include "cli/calibrate_link.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace thinwire::cli {
namespace {

constexpr int kRoundTrips = 2000;
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
constexpr std::int64_t kStreamNs = 1'000'000'000;
constexpr timeval kPatience{.tv_sec = 30, .tv_usec = 0};

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

  // Short messages leave at once, and a peer that is gone does not keep us.
  bool prepare() const {
    const int on = 1;
    return ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
           ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience) == 0 &&
           ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience) == 0;
  }
  bool send_all(const std::byte* data, std::size_t bytes) const {
    while (bytes > 0) {
      const ssize_t sent = ::send(descriptor_, data, bytes, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      data += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
    return true;
  }
  bool receive_all(std::byte* data, std::size_t bytes) const {
    while (bytes > 0) {
      const ssize_t got = ::recv(descriptor_, data, bytes, 0);
      if (got <= 0) return false;
      data += got;
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }

 private:
  int descriptor_;
};

Status failed(const char* what) {
  const int error = errno;
  std::fprintf(stderr, "thinwire calibrate: %s: %s\n", what, std::strerror(error));
  return {Code::system_error, "calibrate: the link could not be measured", error};
}

// The other end: echoes kRoundTrips bytes, takes the stream, and sends one byte when it ends.
bool answer(const Socket& socket) {
  std::vector<std::byte> block(kBlockBytes);
  for (int i = 0; i < kRoundTrips; ++i) {
    if (!socket.receive_all(block.data(), 1) || !socket.send_all(block.data(), 1)) return false;
  }
  for (;;) {
    const ssize_t got = ::recv(socket.get(), block.data(), block.size(), 0);
    if (got < 0) return false;
    if (got == 0) break;
  }
  return socket.send_all(block.data(), 1);
}

Result<LinkMeasurement> measure(const Socket& socket) {
  const SteadyClock clock;
  std::vector<std::byte> block(kBlockBytes);
  std::vector<std::int64_t> trips;
  std::vector<std::int64_t> sends;
  for (int i = 0; i < kRoundTrips; ++i) {
    const std::int64_t begin = clock.now_ns();
    if (!socket.send_all(block.data(), 1)) return failed("round trip");
    sends.push_back(clock.now_ns() - begin);
    if (!socket.receive_all(block.data(), 1)) return failed("round trip");
    trips.push_back(clock.now_ns() - begin);
  }
  std::sort(trips.begin(), trips.end());
  std::sort(sends.begin(), sends.end());
  const std::int64_t begin = clock.now_ns();
  double bytes = 0;
  while (clock.now_ns() - begin < kStreamNs) {
    if (!socket.send_all(block.data(), block.size())) return failed("stream");
    bytes += static_cast<double>(block.size());
  }
  if (::shutdown(socket.get(), SHUT_WR) != 0 || !socket.receive_all(block.data(), 1)) {
    return failed("stream");
  }
  const auto took = static_cast<double>(clock.now_ns() - begin);
  LinkMeasurement result;
  result.link.latency_us = static_cast<double>(trips[kRoundTrips / 2]) / 2000;
  result.link.gbytes_per_s = bytes / took;
  result.message_us = static_cast<double>(sends[kRoundTrips / 2]) / 1000;
  return result;
}

// A listening socket on all addresses of both families, or on a free port of loopback for 0.
int listen_on(int port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  const int descriptor = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (descriptor < 0 || ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(descriptor, 1) != 0) {
    if (descriptor >= 0) ::close(descriptor);
    return -1;
  }
  return descriptor;
}

int connect_to(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  int connected = -1;
  for (const addrinfo* one = found; one != nullptr && connected < 0; one = one->ai_next) {
    const int descriptor = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;
    if (::connect(descriptor, one->ai_addr, one->ai_addrlen) == 0)
      connected = descriptor;
    else
      ::close(descriptor);
  }
  ::freeaddrinfo(found);
  return connected;
}

}  // namespace

Result<LinkMeasurement> measure_loopback() {
  const Socket listener(listen_on(0));
  sockaddr_in6 address{};
  socklen_t length = sizeof address;
  if (listener.get() < 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return failed("loopback");
  }
  const Socket near(connect_to("127.0.0.1", std::to_string(ntohs(address.sin6_port))));
  if (near.get() < 0) return failed("loopback");
  const Socket far(::accept(listener.get(), nullptr, nullptr));
  if (far.get() < 0 || !near.prepare() || !far.prepare()) return failed("loopback");
  std::thread other([&] { answer(far); });
  auto result = measure(near);
  ::shutdown(near.get(), SHUT_RDWR);
  other.join();
  return result;
}

Result<LinkMeasurement> measure_link(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    errno = EINVAL;
    return failed("--connect needs ADDRESS:PORT");
  }
  const Socket socket(connect_to(address.substr(0, colon), address.substr(colon + 1)));
  if (socket.get() < 0 || !socket.prepare()) return failed(address.c_str());
  return measure(socket);
}

int answer_link_measurements(int port) {
  if (port < 1 || port > 65535) {
    std::fprintf(stderr, "thinwire calibrate: --listen: 1 to 65535\n");
    return 2;
  }
  const Socket listener(listen_on(port));
  if (listener.get() < 0) return failed("--listen").ok() ? 0 : 1;
  const Socket socket(::accept(listener.get(), nullptr, nullptr));
  if (socket.get() < 0 || !socket.prepare() || !answer(socket)) {
    return failed("--listen").ok() ? 0 : 1;
  }
  return 0;
}

}  // namespace thinwire::cli
