// A queue pair of a device connected to itself: with it the device does to memory that only it may
// touch, a GPU's, what the processor does to the host's. One job at a time.
// Owner: DeviceJobs; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "transports/verbs/message.h"
#include "transports/verbs/queue_pair.h"

namespace thinwire::transports::verbs {

class Loopback {
 public:
  // Code::system_error: the device has no room. Code::peer_lost: it does not reach itself.
  static Result<std::unique_ptr<Loopback>> create(const Context& context);
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  // Reads a byte at `address`: once that is done, all that the device wrote before is there for
  // everybody (PCI Express: a read pushes the writes before it).
  Status read(std::uint64_t address, std::uint32_t key);
  // Copies at most kMaxEagerBytes to `address`. `bytes` may go at once.
  Status write(std::uint64_t address, std::uint32_t key, std::span<const std::byte> bytes);

  // would_block: the job is not done yet. A failure says why, as the device tells it.
  Status poll();
  bool arm() { return context_.api().req_notify_cq(queue_) == 0; }

 private:
  struct Memory {
    std::byte bytes[kMaxEagerBytes];
    std::byte read_here[8];
  };
  explicit Loopback(const Context& context) : context_(context) {}
  Status open();
  Status post(ibv_send_wr& request, void* local, std::size_t bytes);

  const Context& context_;
  const std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  ibv_mr* mr_ = nullptr;
  ibv_cq* queue_ = nullptr;
  std::unique_ptr<QueuePair> pair_;
};

}  // namespace thinwire::transports::verbs
