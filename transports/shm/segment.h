// A piece of memory that two processes map: a memfd, nameless and gone with its last user.
// Owner: a connection; any thread. Source: memfd_create(2), F_ADD_SEALS of fcntl(2).
#pragma once

#include <cstddef>

#include "base/status.h"
#include "transports/shm/local_socket.h"

namespace thinwire::transports::shm {

class Segment {
 public:
  Segment() = default;
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  // Zeros, of a size that nobody can change any more. `fd` is for the peer; the mapping needs it
  // no longer. Code::system_error with errno.
  static Result<Segment> create(std::size_t bytes, UniqueFd& fd);
  // Code::peer_lost: not such memory of exactly that size.
  static Result<Segment> map(const UniqueFd& fd, std::size_t bytes);

  std::byte* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  static Result<Segment> map_fd(int fd, std::size_t bytes);

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace thinwire::transports::shm
