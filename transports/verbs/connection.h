// A verbs connection: its introduction over the control connection, its channel, its end.
// Owner: the caller of connect() or try_accept(); the endpoint's thread. Never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transports/control_link.h"
#include "transports/transport.h"
#include "transports/verbs/channel.h"
#include "transports/verbs/control_message.h"
#include "transports/verbs/endpoint_state.h"

namespace thinwire::transports::verbs {

class VerbsConnection final : public Connection {
 public:
  // Begins connecting over `link`.
  VerbsConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                  std::span<const std::byte> hello);
  // Answers an introduction that came over `link`. Code::system_error: the device has no room for
  // it. Code::peer_lost: the introduction makes no sense.
  static Result<std::unique_ptr<VerbsConnection>> accept(EndpointState& state,
                                                         std::unique_ptr<ControlLink> link,
                                                         const ControlMessage& introduction);
  // Tells the peer. What was not completed is dropped.
  ~VerbsConnection() override;

  Status state() const override {
    if (failure_.failed()) return failure_;
    return established_ ? Status() : Status::would_block();
  }
  std::span<const std::byte> hello() const override { return hello_; }
  Status post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                   std::uint64_t cookie) override;
  Status post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) override;
  Status post_flush(const void* data, MemoryKey memory, std::uint64_t cookie) override;
  std::string_view peer_name() const override { return peer_name_; }

  // A port of the Endpoint came up or went down.
  void ports_changed();
  // The control connections were polled.
  void progress_control(std::int64_t now_ns);
  // True: something happened, or has to soon.
  bool progress(std::int64_t now_ns);
  bool arm() { return !channel_ || channel_->arm(); }
  bool is_introducing() const { return !failure_.failed() && !established_; }
  void add_to(Counters& counters) const;

 private:
  Status make_channel(const ControlMessage& peer, std::size_t data_paths);
  void send(const ControlMessage& message);
  void introduce();
  void tell_where(ControlKind kind);
  void handle(const ControlMessage& message, std::int64_t now_ns);
  Status take_answer(const ControlMessage& answer);
  Status take_ready(const ControlMessage& ready);
  void peer_failed(const ControlMessage& error);
  // Paths that fail, and the end of the patience with them.
  void mend(std::int64_t now_ns);
  void tell_failure(const PathFailure& failure);
  void log_recovery(const PathRecovery& recovery) const;
  bool finish_goodbye(std::int64_t now_ns);
  void fail(const Status& status);
  void fail_and_tell(const Status& status);
  void log_failure(const Status& status) const;

  EndpointState& state_;
  const std::uint32_t number_;
  std::unique_ptr<ControlLink> link_;
  std::string peer_name_;
  std::vector<std::byte> hello_;
  bool connecting_;
  std::unique_ptr<Channel> channel_;
  bool introduced_ = false;
  bool established_ = false;
  std::int64_t introduced_by_ns_ = 0;  // 0: no deadline yet
  // A peer's goodbye waits for what it had delivered before.
  bool said_goodbye_ = false;
  bool lingers_ = false;  // everything came, and some of it is still to be received
  std::int64_t goodbye_until_ns_ = 0;
  std::vector<std::byte> delivered_;
  // Paths that failed.
  std::string path_words_;  // why the last one did, for the log
  Status failure_;
};

}  // namespace thinwire::transports::verbs
