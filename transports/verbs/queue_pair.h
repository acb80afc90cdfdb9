// One reliable queue pair, and its own account of what is under way on it: a slot of the send
// queue is free only once a completion of it, or of a later one, was polled.
// Owner: a Channel; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "transports/verbs/device.h"

namespace thinwire::transports::verbs {

inline constexpr int kSpeedUnit = 100;  // Mb/s

// Where a queue pair is, for its peer: docs/wire_format.md, "RDMA verbs".
struct PathAddress {
  std::uint32_t queue_pair = 0;
  std::uint32_t first_packet = 0;  // its first sequence number, 24 bits
  std::uint16_t lid = 0;
  std::uint8_t ethernet = 0;  // 1: RoCE
  std::uint8_t mtu = 0;       // ibv_mtu
  std::uint8_t reads = 0;     // outstanding reads and atomics
  std::uint8_t reserved = 0;
  std::uint16_t speed = 0;  // of its port, in kSpeedUnit; 0: unknown
  std::array<std::uint8_t, 16> gid{};
  ibv_ece extensions{};  // what it can, or can together with its peer; options 0: nothing
};
static_assert(sizeof(PathAddress) == 44);

struct QueueDepths {
  std::uint32_t send = 0;
  std::uint32_t receive = 0;
};

// What a work request is called in its completion.
struct WorkName {
  std::uint16_t path = 0;  // of its connection
  bool receive = false;
  std::uint16_t epoch = 0;   // of its queue pair on that path
  std::uint32_t number = 0;  // position in the send queue, or the receive slot

  std::uint64_t pack() const {
    return static_cast<std::uint64_t>(number) << 32 | static_cast<std::uint64_t>(epoch) << 16 |
           static_cast<std::uint64_t>(receive) << 15 | path;
  }
  static WorkName unpack(std::uint64_t id) {
    return {static_cast<std::uint16_t>(id & 0x7fff), (id >> 15 & 1) != 0,
            static_cast<std::uint16_t>(id >> 16), static_cast<std::uint32_t>(id >> 32)};
  }
};

class QueuePair {
 public:
  // `path` and `epoch` name its work requests, `access` is what its peer may do to memory here.
  // Takes receives at once, sends once connected.
  static Result<std::unique_ptr<QueuePair>> create(const Context& context, ibv_cq* cq,
                                                   QueueDepths depths, std::uint16_t path,
                                                   std::uint16_t epoch,
                                                   int access = IBV_ACCESS_LOCAL_WRITE |
                                                                IBV_ACCESS_REMOTE_WRITE);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  // Before connect() with what its device can beyond the standard, after it with what both can.
  PathAddress address() const;
  // Code::peer_lost: there is no way from here to that address.
  Status connect(const PathAddress& peer);
  // Nothing arrives any more; what was posted comes back flushed.
  void stop();

  std::uint16_t epoch() const { return epoch_; }
  std::uint32_t max_inline_bytes() const { return max_inline_bytes_; }
  std::uint32_t room() const { return depths_.send - (posted_ - retired_); }
  // The position of the next post.
  std::uint32_t position() const { return posted_; }
  std::uint32_t retired() const { return retired_; }

  // One request, which asks for a completion if `signalled` or if none was asked for lately.
  // Precondition: room() > 0. Code::system_error: the device refused it (native: errno).
  Status post_send(ibv_send_wr& request, bool signalled);
  // `memory` may be null: nothing but immediate data is to come.
  Status post_receive(std::uint32_t slot, ibv_sge* memory);
  // The completion of position `position` was polled.
  void retire(std::uint32_t position);

 private:
  QueuePair(const Context& context, QueueDepths depths, std::uint16_t path, std::uint16_t epoch)
      : context_(context),
        depths_(depths),
        path_(path),
        epoch_(epoch),
        takes_extensions_(context.settings().config.ib_ece != 0) {}
  Status create_native(ibv_cq* cq);
  Status initialise(int access);
  void agree_with(const ibv_ece& peer);
  Status receive_from(const PathAddress& peer);
  Status send_to(const PathAddress& peer);
  ibv_ah_attr route_to(const PathAddress& peer) const;

  const Context& context_;
  const QueueDepths depths_;
  const std::uint16_t path_;
  const std::uint16_t epoch_;
  bool takes_extensions_;  // as far as is known
  ibv_qp* native_ = nullptr;
  std::uint32_t first_packet_ = 0;
  std::uint32_t max_inline_bytes_ = 0;
  std::uint32_t posted_ = 0;
  std::uint32_t retired_ = 0;
  std::uint32_t unsignalled_ = 0;  // posts since the last that asked for a completion
};

}  // namespace thinwire::transports::verbs
