// A connection through shared memory: its introduction over the control connection and a local
// socket, its two lanes, its end. The control connection and the local socket stay open: their end
// tells of a peer that died.
// Owner: the caller of connect() or try_accept(); the endpoint's thread. Never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transports/control_link.h"
#include "transports/shm/control_message.h"
#include "transports/shm/endpoint_state.h"
#include "transports/shm/receiver.h"
#include "transports/shm/remote_memory.h"
#include "transports/shm/segment.h"
#include "transports/shm/sender.h"
#include "transports/transport.h"

namespace thinwire::transports::shm {

class ShmConnection final : public Connection {
 public:
  // Begins connecting over `link`; the segment is to come to `socket`.
  ShmConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                std::span<const std::byte> hello, const SocketName& socket);
  // Answers an introduction that came over `link`, and is established. Code::system_error (and the
  // peer is told): no way to share memory with the peer.
  static Result<std::unique_ptr<ShmConnection>> accept(EndpointState& state,
                                                       std::unique_ptr<ControlLink> link,
                                                       const ControlMessage& introduction);
  ~ShmConnection() override;

  Status state() const override {
    if (failure_.failed()) return failure_;
    return shared_ == nullptr ? Status::would_block() : Status();
  }
  std::span<const std::byte> hello() const override { return hello_; }
  Status post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                   std::uint64_t cookie) override;
  Status post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) override;
  void give_back(void* view) override;
  std::string_view peer_name() const override { return peer_name_; }

  bool is_introducing() const { return state().is_would_block(); }
  // Connecting: what the segment comes with. 64 secret random bits.
  std::uint64_t nonce() const { return nonce_; }
  // Connecting: it came.
  void take_segment(LocalSocket socket, const UniqueFd& fd);

  // The control connections were polled.
  void progress_control(std::int64_t now_ns);
  // Moves messages. True: something moved.
  bool progress();
  // Asks the peer for a wake-up; false: there is something to do already.
  bool arm();
  void disarm();
  void add_to(Counters& counters) const;

 private:
  ShmConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                const ControlMessage& introduction);
  Status make_segment(const SocketName& socket);
  void wire(Segment segment, LocalSocket socket);
  void introduce();
  void handle(const ControlMessage& message);
  void settle_reading();
  bool check_ends(End peer_end, bool peer_is_gone);
  bool linger();
  // Wakes the peer up if it sleeps and something was done for it.
  void announce();
  void fail(const Status& status, End end = End::failed);
  void end(End how);
  void log_failure(const Status& status) const;

  std::size_t own_number() const { return connecting_ ? 1 : 0; }
  Side& own_side() const { return shared_->sides[own_number()]; }
  Side& peer_side() const { return shared_->sides[1 - own_number()]; }
  Lane& out_lane() const { return shared_->lanes[own_number()]; }
  Lane& in_lane() const { return shared_->lanes[1 - own_number()]; }

  EndpointState& state_;
  const std::uint32_t number_;
  std::unique_ptr<ControlLink> link_;
  const std::string peer_name_;
  const std::vector<std::byte> hello_;
  const bool connecting_;
  const std::uint64_t nonce_;
  const SocketName socket_name_{};  // connecting
  bool introduced_ = false;
  std::int64_t introduced_by_ns_ = 0;  // 0: no deadline yet
  // Declared before the halves that use them.
  LocalSocket socket_;
  Segment segment_;
  SharedState* shared_ = nullptr;  // in segment_
  RemoteMemory remote_;
  Sender sender_;
  Receiver receiver_;
  bool reading_is_settled_ = false;
  bool peer_is_gone_ = false;
  bool lingers_ = false;  // the peer closed, and something of it is still to be received
  Status failure_;
};

}  // namespace thinwire::transports::shm
