// The control connection of one UCX connection: sends and receives control messages, and is the
// first to know when the peer is gone. Owner: a UcxConnection, or whoever it is handed to; one
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "transports/transport.h"
#include "transports/ucx/control_message.h"
#include "transports/ucx/endpoint_state.h"

namespace thinwire::transports::ucx {

class ControlLink {
 public:
  ControlLink(EndpointState& state, std::unique_ptr<Connection> connection);
  ~ControlLink();
  ControlLink(const ControlLink&) = delete;
  ControlLink& operator=(const ControlLink&) = delete;

  // would_block while being established, ok, or why it failed.
  Status state() const { return failure_.failed() ? failure_ : connection_->state(); }
  std::string_view peer_name() const { return connection_->peer_name(); }

  void send(ControlMessage message);
  // Nothing that was given to send() is still to go out.
  bool is_quiet() const { return outgoing_.empty(); }

  // Posts what is to be posted. Completions come through completed().
  void progress();
  // One of this link's posts ended; `cookie` is what is left of it without the link's number.
  void completed(std::uint64_t cookie, const Completion& completion);

  bool has_message() const { return !arrived_.empty(); }
  ControlMessage take_message();

  // The completion cookies of all links of an endpoint: number of the link and a part.
  static constexpr int kCookieBits = 2;

 private:
  enum Cookie : std::uint64_t { kSent, kPrelude, kBlob };
  struct Outgoing {
    std::array<std::byte, kPreludeBytes> prelude{};
    std::vector<std::byte> blob;
    int posted = 0;  // of its parts
    int finished = 0;
    int parts() const { return blob.empty() ? 1 : 2; }
  };
  void post_sends();
  void post_receive();
  void prelude_arrived();
  std::uint64_t cookie(Cookie part) const { return number_ << kCookieBits | part; }

  EndpointState& state_;
  const std::uint64_t number_;
  std::deque<Outgoing> outgoing_;
  std::deque<ControlMessage> arrived_;
  std::array<std::byte, kPreludeBytes> prelude_{};
  ControlMessage incoming_;
  bool receiving_ = false;
  bool wants_blob_ = false;
  Status failure_;
  // Last: its posts refer to the buffers above.
  std::unique_ptr<Connection> connection_;
};

}  // namespace thinwire::transports::ucx
