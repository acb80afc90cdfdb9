// The sending half of a connection: starts active messages within the peer's window, completes
// posts. Owner: a Channel; one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "transports/containers.h"
#include "transports/finished.h"
#include "transports/ucx/context.h"
#include "transports/ucx/message.h"
#include "transports/ucx/operation.h"

namespace thinwire::transports::ucx {

class Sender {
 public:
  Sender(const Context& context, std::uint32_t connection, Finished& finished)
      : context_(context), connection_(connection), finished_(finished) {}

  // From now on it sends. `peer_connection` is the peer's number of this connection.
  void wire(ucp_ep_h endpoint, std::uint32_t peer_connection, std::uint64_t window_bytes);

  // would_block: too many outstanding, or an empty message while the window is full. `granted`
  // goes along.
  Status post(const void* data, std::size_t bytes, std::uint64_t tag, ucs_memory_type_t memory,
              std::uint64_t cookie, std::uint64_t granted);
  // Sends a message without payload.
  void tell(MessageKind kind, std::uint64_t granted);
  // The peer's receiver has let go of `total`, counted from the start.
  void take_grant(std::uint64_t total) { granted_ = total > granted_ ? total : granted_; }

  // What UCX refused or broke off; ok until then.
  const Status& failure() const { return failure_; }
  // Operations that UCX has not ended yet.
  std::size_t in_flight() const { return in_flight_; }
  // Those among them whose buffers are the caller's.
  std::size_t posts_in_flight() const { return posts_in_flight_; }
  // Completes what is outstanding with `status`. UCX has let go of it all.
  void fail(const Status& status);

  std::uint64_t messages() const { return sequence_; }
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  struct Send {
    bool live = false;
    bool is_post = false;  // completes a cookie
    std::uint64_t order = 0;
    std::uint64_t cookie = 0;
    std::size_t bytes = 0;
    MessageHeader header;
    Sender* sender = nullptr;
    RequestMemory request;
  };
  void start(Send* send, const void* data, ucs_memory_type_t memory, unsigned flags);
  static void ended(void* request, ucs_status_t status, void* send);
  void finish(Send* send, ucs_status_t status);

  const Context& context_;
  const std::uint32_t connection_;
  Finished& finished_;
  ucp_ep_h endpoint_ = nullptr;
  std::uint32_t peer_connection_ = 0;
  std::uint64_t window_bytes_ = 0;
  std::uint64_t charged_ = 0;
  std::uint64_t granted_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t posts_in_flight_ = 0;
  Status failure_;
  Recycler<Send> sends_;
};

}  // namespace thinwire::transports::ucx
