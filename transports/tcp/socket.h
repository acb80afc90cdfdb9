// File descriptors and socket addresses, as values. Any thread.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"

namespace thinwire::transports::tcp {

// Owns one descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// An IPv4 or IPv6 address with port and, for link-local IPv6, the interface.
struct SocketAddress {
  enum class Family : std::uint16_t { none = 0, ipv4 = 4, ipv6 = 6 };
  Family family = Family::none;
  std::uint16_t port = 0;
  std::uint32_t scope_id = 0;
  std::array<std::byte, 16> bytes{};  // IPv4 uses the first four

  bool is_loopback() const;
  bool is_link_local() const;  // IPv6 fe80::/10
  bool same_host_as(const SocketAddress& other) const;
  // "10.0.0.1:4000", "[fe80::1%eth0]:4000"; without the port where it is 0.
  std::string text() const;

  static SocketAddress from_native(const sockaddr* native);
  // Returns the length that bind() and connect() want.
  socklen_t to_native(sockaddr_storage& native) const;
  int native_family() const { return family == Family::ipv6 ? AF_INET6 : AF_INET; }
};

// The address of this end of a bound socket.
SocketAddress local_address(int fd);
SocketAddress remote_address(int fd);

// A non-blocking, close-on-exec stream socket. Code::system_error when there is none.
Result<UniqueFd> make_socket(const SocketAddress& like);

// setsockopt with an int; the caller decides whether a refusal matters.
bool set_option(int fd, int level, int name, int value);

}  // namespace thinwire::transports::tcp
