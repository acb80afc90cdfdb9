// The peer's memory, read from here by the kernel: cross-memory attach, where it is permitted.
// Owner: a ShmConnection; one thread. Source: process_vm_readv(2).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "transports/shm/local_socket.h"

namespace thinwire::transports::shm {

class RemoteMemory {
 public:
  // Tries it on the number at `probe` in the process at the other end of `socket`, which outlives
  // this. Unreadable where containers or ptrace's rules forbid it.
  void try_out(const LocalSocket& socket, std::uint64_t probe, std::uint64_t expected);
  bool is_readable() const { return readable_; }

  // Copies from `address` there to `to` here. Code::peer_lost: the process is gone, or it has
  // nothing there.
  Status read(std::uint64_t address, void* to, std::size_t bytes) const;

 private:
  const LocalSocket* socket_ = nullptr;
  pid_t process_ = 0;
  bool readable_ = false;
};

}  // namespace thinwire::transports::shm
