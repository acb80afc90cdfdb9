// The UCX part of a connection: its UCP endpoint and what is under way on it. Outlives the
// connection until UCX has let go of everything.
// Owner: a UcxConnection, afterwards the EndpointState; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "transports/ucx/endpoint_state.h"
#include "transports/ucx/receiver.h"
#include "transports/ucx/sender.h"

namespace thinwire::transports::ucx {

// Who sees a peer's death. UCX's shared memory has no way to, and over TCP its error handling costs
// the direct writes of its rendezvous (UCX 1.13 wants memory that can be invalidated for them):
// there the control connection alone does, and the channel has a worker of its own that is
// destroyed to break off. Where UCX does, it tracks requests and must be asked to break off.
enum class Watching : std::uint8_t { by_ucx = 1, by_control = 2 };

class Channel {
 public:
  // `number`: the connection's, unique in its Endpoint. Code::system_error: UCX makes no worker.
  // `peer_endpoint`: the peer's Endpoint, by the random number that it gave itself.
  static Result<std::unique_ptr<Channel>> create(EndpointState& state, std::uint32_t number,
                                                 Watching watching, std::uint64_t peer_endpoint);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  std::uint32_t number() const { return number_; }
  // Where the peer's channel connects to.
  std::span<const std::byte> address() const { return worker()->address(); }

  // Code::peer_lost: UCX finds no way to that address (native: its status).
  Status connect(std::span<const std::byte> peer_address, std::uint32_t peer_number,
                 std::uint64_t peer_window_bytes);
  bool is_connected() const { return endpoint_ != nullptr; }

  const Sender& sender() const { return sender_; }
  // Whether there is something of a peer that closed to be received, and nothing else is wanted.
  bool is_useful_alone() const {
    return receiver_.holds_messages() && receiver_.posted_groups() == 0 &&
           sender_.posts_in_flight() == 0;
  }
  Receiver& receiver() { return receiver_; }
  const Receiver& receiver() const { return receiver_; }

  // As Connection::post_send(), once it is connected.
  Status post_send(const void* data, std::size_t bytes, std::uint64_t tag, ucs_memory_type_t memory,
                   std::uint64_t cookie);
  // A message for this channel arrived; false as MessageSink has it.
  bool message_arrived(const ActiveMessage& message);
  // The first failure that UCX or a half of this channel has seen.
  Status failure() const;
  // Tells the peer what left the window, when that is due.
  void grant_if_due();
  void tell_to_look() { sender_.tell(MessageKind::look, receiver_.taken()); }
  // Tries the path, once it is connected; true as soon as this side knows that it works.
  bool greet(bool connecting);

  // Breaks off at once; what was under way ends in the following progress() calls.
  void abort();
  // Forgets what is under way: its worker is about to be destroyed.
  void abandon();
  // Closes once what was sent is out.
  void close();
  // After abort() or close(): true when UCX holds nothing of it any more.
  bool progress();
  // Whether UCX works on posts: to go on with them is to touch the caller's buffers.
  bool works_on_posts() const {
    return worker() != nullptr && (sender_.posts_in_flight() > 0 || receiver_.in_flight() > 0);
  }
  // Whether UCX has operations that it has not ended, and so may touch buffers of posts.
  bool holds_buffers() const {
    return worker() != nullptr && (sender_.in_flight() > 0 || receiver_.in_flight() > 0);
  }
  // Completes all outstanding posts with `status`; whatever still arrives is refused. UCX is to
  // hold none of their buffers.
  void fail_posts(const Status& status);

 private:
  Channel(EndpointState& state, std::uint32_t number, Watching watching,
          std::unique_ptr<Worker> own_worker);
  // Null once it is gone, and with it everything that UCX did for this channel.
  Worker* worker() const { return shares_ ? state_.shared_worker.get() : own_worker_.get(); }
  void begin_closing(std::uint32_t flags);
  void finish_reads();
  static void peer_failed(void* channel, ucp_ep_h endpoint, ucs_status_t status);

  EndpointState& state_;
  const Watching watching_;
  const bool shares_;  // the endpoint's worker
  const std::uint32_t number_;
  // Declared before the halves that UCX works for: those stay whole while it is destroyed.
  Sender sender_;
  Receiver receiver_;
  std::unique_ptr<Worker> own_worker_;
  ucp_ep_h endpoint_ = nullptr;
  ucs_status_ptr_t closing_ = nullptr;
  Status ucx_failure_;
  std::uint64_t granted_ = 0;  // what was last told to the peer
  bool greeted_ = false;
  bool confirmed_ = false;
  MessageKind heard_ = MessageKind::data;  // the latest of the peer's greeting
};

}  // namespace thinwire::transports::ucx
