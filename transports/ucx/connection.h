// A UCX connection: its introduction over the control connection, its channel, its end.
// Owner: the caller of connect() or try_accept(); the endpoint's thread. Never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transports/control_link.h"
#include "transports/transport.h"
#include "transports/ucx/channel.h"
#include "transports/ucx/control_message.h"
#include "transports/ucx/endpoint_state.h"

namespace thinwire::transports::ucx {

class UcxConnection final : public Connection {
 public:
  // Begins connecting over `link`.
  UcxConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                std::span<const std::byte> hello);
  // Answers an introduction that came over `link`. Code::system_error: UCX has no worker for it.
  static Result<std::unique_ptr<UcxConnection>> accept(EndpointState& state,
                                                       std::unique_ptr<ControlLink> link,
                                                       const ControlMessage& introduction);
  // Tells the peer and leaves what is under way to the EndpointState; only if posts are
  // outstanding does it wait for UCX to let go of their buffers, a fraction of a second at most.
  ~UcxConnection() override;

  Status state() const override {
    if (failure_.failed()) return failure_;
    return established_ ? Status() : Status::would_block();
  }
  std::span<const std::byte> hello() const override { return hello_; }
  Status post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                   std::uint64_t cookie) override;
  Status post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) override;
  std::string_view peer_name() const override { return peer_name_; }

  // The control connections were polled.
  void progress_control(std::int64_t now_ns);
  // The workers were progressed. True: there is something left to do.
  bool progress(std::int64_t now_ns);
  bool is_introducing() const { return !failure_.failed() && !established_; }
  void add_to(Counters& counters) const;

 private:
  UcxConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                const ControlMessage& introduction);
  bool is_wired() const { return channel_ && channel_->is_connected(); }
  void introduce();
  // Sends `message` with this side's channel and address.
  void tell_where(ControlMessage message);
  Status make_channel(Watching watching, std::uint64_t peer_endpoint);
  void handle(const ControlMessage& message, std::int64_t now_ns);
  Status take_answer(const ControlMessage& answer);
  Status wire(const ControlMessage& where);
  void peer_failed(const ControlMessage& error);
  void suspect(const Status& status, std::int64_t now_ns);
  void fail(const Status& status);
  void tell_error(const Status& status);
  void finish_failing();
  void log_failure(const Status& status) const;

  EndpointState& state_;
  const std::uint32_t number_;
  std::unique_ptr<ControlLink> link_;
  std::string peer_name_;
  std::vector<std::byte> hello_;
  std::unique_ptr<Channel> channel_;
  const bool connecting_;
  bool introduced_ = false;
  bool established_ = false;
  std::int64_t introduced_by_ns_ = 0;  // 0: no deadline yet
  // UCX's failure waits a moment for the control connection's word on it; a peer's goodbye waits
  // for the messages that were sent before it.
  Status suspicion_;
  std::int64_t fail_at_ns_ = 0;
  bool lingers_ = false;  // the peer closed, and something of it is still to be received
  bool said_goodbye_ = false;
  std::uint64_t messages_to_come_ = 0;  // valid after a goodbye
  Status failure_;
  bool posts_are_ended_ = false;  // all completed with failure_
};

}  // namespace thinwire::transports::ucx
