// A TCP connection: its set-up, its streams, its two halves (Sender, Receiver) and its end.
// Owner: the caller of connect() or try_accept(); the endpoint's thread. Never blocks.
// docs/wire_format.md, "Frames" and "Flow control", describes what it speaks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transports/tcp/completions.h"
#include "transports/tcp/dialer.h"
#include "transports/tcp/endpoint_state.h"
#include "transports/tcp/listener.h"
#include "transports/tcp/liveness.h"
#include "transports/tcp/receiver.h"
#include "transports/tcp/sender.h"
#include "transports/tcp/stream.h"
#include "transports/tcp/striping.h"
#include "transports/transport.h"

namespace thinwire::transports::tcp {

inline constexpr const char* kPeerClosed = "the peer closed the connection";

class TcpConnection final : public Connection, private FrameSink {
 public:
  // Begins connecting.
  TcpConnection(EndpointState& state, const HandleInfo& peer, const Dialer::Target& target,
                std::span<const std::byte> hello);
  // Takes over what a listener put together.
  TcpConnection(EndpointState& state, Arrival arrival);
  // Says goodbye to the peer as far as that does not block. Outstanding posts and completions that
  // were not polled vanish.
  ~TcpConnection() override;

  Status state() const override;
  std::span<const std::byte> hello() const override { return hello_; }
  Status post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey memory,
                   std::uint64_t cookie) override;
  Status post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) override;
  std::string_view peer_name() const override { return peer_name_; }

  // Moves what can be moved now. `try_all`: look at every socket, else only where an event said so.
  void progress(std::int64_t now_ns, bool try_all);
  // About once a second: is the peer alive?
  void check_peer(std::int64_t now_ns);
  Completions& completions() { return completions_; }
  void add_to(Counters& counters) const;
  bool is_connecting() const { return dialer_ != nullptr; }
  // progress() stopped although there may be more to do.
  bool has_more_work() const { return more_work_; }

 private:
  bool defers(const FrameHeader& header) override;
  Result<Landing> chunk_begins(const FrameHeader& header) override;
  void chunk_ended(const FrameHeader& header, const Landing& landing) override;
  Status control_arrived(const FrameHeader& header) override;

  void progress_dialing();
  void establish(std::vector<UniqueFd> sockets, std::uint64_t peer_window_bytes);
  void write(std::int64_t now_ns);
  void grant_if_due();
  void write_single();
  void write_striped(std::int64_t now_ns);
  void observe_streams(std::int64_t now_ns);
  Status flush(Stream& stream);
  void send_control(const FrameHeader& header);
  void read(std::int64_t now_ns);
  void stream_ended(Stream& stream, const Status& status);

  void fail(const Status& status);
  void fail_telling_the_peer(const Status& status);
  void finish_failing(std::int64_t now_ns);
  void log_failure(const Status& status) const;
  void say_goodbye();
  void end_unless_useful();

  EndpointState& state_;
  std::string peer_name_;
  std::vector<std::byte> hello_;
  std::unique_ptr<Dialer> dialer_;  // while connecting
  Completions completions_;
  Sender sender_;
  Receiver receiver_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Watch> watches_;
  Striping striping_{1};
  std::vector<PathWatch> paths_;
  Heartbeat heartbeat_;
  std::uint64_t granted_ = 0;      // what was last told to the peer
  std::vector<OutMessage*> sent_;  // scratch of flush()
  Stream* reading_ = nullptr;
  std::int64_t reading_at_ns_ = 0;
  bool more_work_ = false;
  bool control_queued_ = false;
  bool closed_by_peer_ = false;  // in order: nothing more comes
  Status failure_;
  bool telling_ = false;  // failed, but the peer is still being told
  std::int64_t tell_until_ns_ = 0;
};

}  // namespace thinwire::transports::tcp
