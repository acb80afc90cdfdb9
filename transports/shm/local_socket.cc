#include "transports/shm/local_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "transports/random.h"

namespace thinwire::transports::shm {

namespace {

constexpr int kBacklog = 1024;
constexpr int kType = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

struct Address {
  sockaddr_un value{};
  socklen_t bytes = 0;
};

Address address_of(const SocketName& name) {
  Address address;
  address.value.sun_family = AF_UNIX;
  // A leading zero byte makes it abstract: no file anywhere.
  const int length =
      std::snprintf(address.value.sun_path + 1, sizeof address.value.sun_path - 1,
                    "thinwire-%016llx%016llx", static_cast<unsigned long long>(name.token[0]),
                    static_cast<unsigned long long>(name.token[1]));
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                         static_cast<std::size_t>(length));
  return address;
}

union FdMessage {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

}  // namespace

LocalSocket::~LocalSocket() {
  if (fd_) ::shutdown(fd_.get(), SHUT_RDWR);
}

Result<LocalSocket> LocalSocket::connect(const SocketName& name) {
  UniqueFd fd(::socket(AF_UNIX, kType, 0));
  const Address address = address_of(name);
  if (!fd ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.value), address.bytes) != 0) {
    return Status(Code::system_error, "no way to the peer through shared memory", errno);
  }
  return LocalSocket(std::move(fd));
}

Status LocalSocket::send_fd(std::uint64_t nonce, const UniqueFd& fd) {
  iovec part{&nonce, sizeof nonce};
  FdMessage control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = fd.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  if (::sendmsg(fd_.get(), &message, MSG_NOSIGNAL) == sizeof nonce) return {};
  return {Code::system_error, "cannot pass shared memory to the peer", errno};
}

Status LocalSocket::receive_fd(std::uint64_t& nonce, UniqueFd& fd) {
  iovec part{&nonce, sizeof nonce};
  FdMessage control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t got = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Status::would_block();
  const cmsghdr* header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    fd = UniqueFd(number);
  }
  if (got == sizeof nonce && fd) return {};
  return {Code::peer_lost, "a stranger on the local socket"};
}

void LocalSocket::ring() {
  const char wake = 1;
  (void)::send(fd_.get(), &wake, sizeof wake, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool LocalSocket::drain() {
  while (true) {
    char wakes[16];
    const ssize_t got = ::recv(fd_.get(), wakes, sizeof wakes, MSG_DONTWAIT);
    if (got > 0) continue;
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

bool LocalSocket::is_open() const {
  char wake;
  const ssize_t got = ::recv(fd_.get(), &wake, sizeof wake, MSG_DONTWAIT | MSG_PEEK);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

pid_t LocalSocket::peer_pid() const {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  const int got = ::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes);
  return got == 0 ? credentials.pid : 0;
}

Result<LocalListener> LocalListener::open() {
  const SocketName name{{random_number(), random_number()}};
  const Address address = address_of(name);
  UniqueFd fd(::socket(AF_UNIX, kType, 0));
  if (!fd ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.value), address.bytes) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return Status(Code::system_error, "cannot listen on a local socket", errno);
  }
  return LocalListener(name, std::move(fd));
}

LocalSocket LocalListener::accept() {
  return LocalSocket(
      UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
}

}  // namespace thinwire::transports::shm
