#include "transports/shm/remote_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace thinwire::transports::shm {

namespace {

bool read_all(pid_t process, std::uint64_t address, void* to, std::size_t bytes) {
  // A call reads 2 GiB at most.
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kMostAtOnce);
    const iovec local{at, part};
    const iovec remote{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), part};
    const ssize_t got = ::process_vm_readv(process, &local, 1, &remote, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

void RemoteMemory::try_out(const LocalSocket& socket, std::uint64_t probe, std::uint64_t expected) {
  socket_ = &socket;
  process_ = socket.peer_pid();
  std::uint64_t found = 0;
  readable_ = process_ != 0 && read_all(process_, probe, &found, sizeof found) && found == expected;
}

Status RemoteMemory::read(std::uint64_t address, void* to, std::size_t bytes) const {
  if (!read_all(process_, address, to, bytes)) {
    return {Code::peer_lost, "cannot read the peer's memory", errno};
  }
  // The number may be another process's by now.
  if (!socket_->is_open()) return {Code::peer_lost, "the peer is gone"};
  return {};
}

}  // namespace thinwire::transports::shm
