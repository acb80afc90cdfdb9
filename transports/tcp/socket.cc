#include "transports/tcp/socket.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>

namespace thinwire::transports::tcp {

bool SocketAddress::is_loopback() const {
  if (family == Family::ipv4) return bytes[0] == std::byte{127};
  for (std::size_t i = 0; i < 15; ++i) {
    if (bytes[i] != std::byte{0}) return false;
  }
  return bytes[15] == std::byte{1};
}

bool SocketAddress::is_link_local() const {
  return family == Family::ipv6 && bytes[0] == std::byte{0xFE} &&
         (bytes[1] & std::byte{0xC0}) == std::byte{0x80};
}

bool SocketAddress::same_host_as(const SocketAddress& other) const {
  return family == other.family && bytes == other.bytes && scope_id == other.scope_id;
}

std::string SocketAddress::text() const {
  char buffer[INET6_ADDRSTRLEN] = "?";
  ::inet_ntop(native_family(), bytes.data(), buffer, sizeof buffer);
  std::string address = buffer;
  if (family == Family::ipv6) {
    char name[IF_NAMESIZE];
    if (scope_id != 0 && ::if_indextoname(scope_id, name) != nullptr) {
      address += std::string("%") + name;
    }
    if (port != 0) address = "[" + address + "]";
  }
  return port == 0 ? address : address + ":" + std::to_string(port);
}

SocketAddress SocketAddress::from_native(const sockaddr* native) {
  SocketAddress address;
  if (native->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, native, sizeof in);
    address.family = Family::ipv4;
    address.port = ntohs(in.sin_port);
    std::memcpy(address.bytes.data(), &in.sin_addr, 4);
  } else if (native->sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, native, sizeof in);
    address.family = Family::ipv6;
    address.port = ntohs(in.sin6_port);
    address.scope_id = in.sin6_scope_id;
    std::memcpy(address.bytes.data(), &in.sin6_addr, 16);
  }
  return address;
}

socklen_t SocketAddress::to_native(sockaddr_storage& native) const {
  native = {};
  if (family == Family::ipv6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    in.sin6_scope_id = scope_id;
    std::memcpy(&in.sin6_addr, bytes.data(), 16);
    std::memcpy(&native, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  std::memcpy(&in.sin_addr, bytes.data(), 4);
  std::memcpy(&native, &in, sizeof in);
  return sizeof in;
}

namespace {
SocketAddress address_of(int fd, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage native{};
  socklen_t length = sizeof native;
  if (ask(fd, reinterpret_cast<sockaddr*>(&native), &length) != 0) return {};
  return SocketAddress::from_native(reinterpret_cast<const sockaddr*>(&native));
}
}  // namespace

SocketAddress local_address(int fd) { return address_of(fd, ::getsockname); }
SocketAddress remote_address(int fd) { return address_of(fd, ::getpeername); }

Result<UniqueFd> make_socket(const SocketAddress& like) {
  UniqueFd fd(::socket(like.native_family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return Status(Code::system_error, "cannot make a socket", errno);
  return fd;
}

bool set_option(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

}  // namespace thinwire::transports::tcp
