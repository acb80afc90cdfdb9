// Unix sockets between the processes of one host: they carry a descriptor once, then wake-ups, and
// end with the peer. Owner: a connection or an endpoint; one thread. Nothing blocks.
// Source: unix(7), abstract addresses and SCM_RIGHTS.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.h"

namespace thinwire::transports::shm {

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
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
  int fd_;
};

// Names a listening socket: random, of this boot and network namespace.
struct SocketName {
  std::array<std::uint64_t, 2> token{};
};

class LocalSocket {
 public:
  LocalSocket() = default;
  explicit LocalSocket(UniqueFd fd) : fd_(std::move(fd)) {}
  LocalSocket(LocalSocket&&) noexcept = default;
  LocalSocket& operator=(LocalSocket&&) noexcept = default;
  // Says goodbye for forked children, too, who may hold the descriptor.
  ~LocalSocket();

  // Code::system_error with errno: nobody listens under that name here.
  static Result<LocalSocket> connect(const SocketName& name);

  // `nonce` and a descriptor, in one message.
  Status send_fd(std::uint64_t nonce, const UniqueFd& fd);
  // would_block: not there yet; Code::peer_lost: what came is not that.
  Status receive_fd(std::uint64_t& nonce, UniqueFd& fd);

  // Wakes the peer up. One more wake-up than the socket holds is one too many.
  void ring();
  // Takes all wake-ups; false once the peer is gone.
  bool drain();
  // The peer has not closed it, nor died.
  bool is_open() const;

  // The process at the other end, as numbered here; 0: unknown.
  pid_t peer_pid() const;
  int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  UniqueFd fd_;
};

class LocalListener {
 public:
  // Code::system_error with errno.
  static Result<LocalListener> open();

  const SocketName& name() const { return name_; }
  int get() const { return fd_.get(); }
  // Empty while nobody calls.
  LocalSocket accept();

 private:
  LocalListener(const SocketName& name, UniqueFd fd) : name_(name), fd_(std::move(fd)) {}
  SocketName name_;
  UniqueFd fd_;
};

}  // namespace thinwire::transports::shm
