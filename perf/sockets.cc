#include "perf/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "perf/failure.h"
#include "perf/limits.h"

namespace thinwire::perf {
namespace {

std::int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

std::string text_of(const HostPort& where) {
  return where.host + " port " + std::to_string(where.port);
}

AddressList resolve(const HostPort& where, bool passive, int* error) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  *error = getaddrinfo(where.host.empty() ? nullptr : where.host.c_str(),
                       std::to_string(where.port).c_str(), &hints, &list);
  return {list, &freeaddrinfo};
}

Socket open_socket(const addrinfo& address) {
  return Socket(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

bool listen_at(const Socket& socket, const addrinfo& address) {
  const int on = 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return bind(socket.fd(), address.ai_addr, address.ai_addrlen) == 0 &&
         listen(socket.fd(), SOMAXCONN) == 0;
}

// 0, or the errno of a connection that was not made within about a second.
int connect_at(const Socket& socket, const addrinfo& address) {
  if (connect(socket.fd(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd wait{socket.fd(), POLLOUT, 0};
  if (poll(&wait, 1, 1000) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

bool is_transient(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Deadline Deadline::after_seconds(double seconds) {
  Deadline deadline;
  deadline.at_ns_ = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  return deadline;
}

bool Deadline::passed() const { return at_ns_ >= 0 && now_ns() >= at_ns_; }

int Deadline::poll_ms(int cap) const {
  if (at_ns_ < 0) return cap;
  const std::int64_t left = (at_ns_ - now_ns()) / 1000000;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, cap));
}

Socket listen_on(const HostPort& where) {
  int error = 0;
  const AddressList addresses = resolve(where, true, &error);
  int reason = 0;
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    Socket socket = open_socket(*a);
    if (socket.open() && listen_at(socket, *a)) return socket;
    reason = errno;
  }
  if (!where.host.empty() && (reason == EADDRNOTAVAIL || error != 0)) {
    return listen_on({"", where.port});
  }
  throw Failure(ExitCode::runtime_error,
                "cannot listen on " + text_of(where) + ": " +
                    (error != 0 ? std::string(gai_strerror(error)) : error_text(reason)));
}

Socket connect_to(const HostPort& where, Deadline deadline) {
  int error = 0;
  int reason = 0;
  do {
    const AddressList addresses = resolve(where, false, &error);
    for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
      Socket socket = open_socket(*a);
      reason = socket.open() ? connect_at(socket, *a) : errno;
      if (reason == 0) return socket;
    }
    if (is_exhaustion(reason)) break;
    poll(nullptr, 0, 50);
  } while (!deadline.passed());
  throw Failure(ExitCode::runtime_error,
                "cannot reach " + text_of(where) + ": " +
                    (error != 0 ? std::string(gai_strerror(error)) : error_text(reason)));
}

Socket try_accept(const Socket& listener) {
  Socket socket(accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.open() && is_exhaustion(errno)) {
    throw Failure(ExitCode::runtime_error,
                  "a rank's connection cannot be accepted: " + error_text(errno));
  }
  return socket;
}

HostPort bound_to(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "0";
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port,
              sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, std::atoi(port)};
}

void set_no_delay(const Socket& socket) {
  const int on = 1;
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void set_congestion(const Socket& socket, const std::string& name) {
  if (name.empty()) return;
  if (setsockopt(socket.fd(), IPPROTO_TCP, TCP_CONGESTION, name.data(),
                 static_cast<socklen_t>(name.size())) == 0) {
    return;
  }
  throw Failure(ExitCode::usage, "--congestion " + name + ": " + std::strerror(errno) +
                                     "; accepted: what sysctl "
                                     "net.ipv4.tcp_available_congestion_control lists");
}

std::ptrdiff_t try_send(const Socket& socket, const void* data, std::size_t bytes) {
  const ssize_t sent = send(socket.fd(), data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return sent;
  return is_transient(errno) ? 0 : -1;
}

std::ptrdiff_t try_recv(const Socket& socket, void* data, std::size_t bytes) {
  const ssize_t got = recv(socket.fd(), data, bytes, MSG_DONTWAIT);
  if (got > 0) return got;
  return got < 0 && is_transient(errno) ? 0 : -1;
}

}  // namespace thinwire::perf
