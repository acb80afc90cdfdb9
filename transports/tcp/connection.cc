#include "transports/tcp/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace thinwire::transports::tcp {

namespace {
std::string name_peer(const std::string& host, const SocketAddress& address) {
  return (host.empty() ? "unknown host" : host) + " (" + address.text() + ")";
}
constexpr std::size_t kMaxReceiveGroups = 4096;
constexpr std::int64_t kTellingNs = 2'000'000'000;
constexpr std::size_t kDrainBytes = 4 * 1024 * 1024;
}  // namespace

TcpConnection::TcpConnection(EndpointState& state, const HandleInfo& peer,
                             const Dialer::Target& target, std::span<const std::byte> hello)
    : state_(state),
      peer_name_(name_peer(peer.host_name, peer.address)),
      hello_(hello.begin(), hello.end()),
      dialer_(std::make_unique<Dialer>(state.settings, state.events, target, hello)),
      sender_(static_cast<std::size_t>(state.settings.config.tcp_chunk_bytes),
              state.settings.config.tcp_checksum == ChecksumChoice::full, completions_),
      receiver_(state.settings.window_bytes(), completions_),
      heartbeat_(state.settings.config.heartbeat_s * 1'000'000'000,
                 state.settings.peer_timeout_ns()) {
  state_.connections.push_back(this);
}

TcpConnection::TcpConnection(EndpointState& state, Arrival arrival)
    : state_(state),
      peer_name_(name_peer(arrival.introduction.host_name, arrival.peer)),
      hello_(arrival.introduction.hello.begin(),
             arrival.introduction.hello.begin() + arrival.introduction.hello_bytes),
      sender_(static_cast<std::size_t>(state.settings.config.tcp_chunk_bytes),
              state.settings.config.tcp_checksum == ChecksumChoice::full, completions_),
      receiver_(state.settings.window_bytes(), completions_),
      heartbeat_(state.settings.config.heartbeat_s * 1'000'000'000,
                 state.settings.peer_timeout_ns()) {
  state_.connections.push_back(this);
  establish(std::move(arrival.sockets), arrival.introduction.window_bytes);
}

TcpConnection::~TcpConnection() {
  say_goodbye();
  add_to(state_.past);
  state_.sockets -= streams_.size();
  std::erase(state_.connections, this);
}

void TcpConnection::establish(std::vector<UniqueFd> sockets, std::uint64_t peer_window_bytes) {
  sender_.set_window(peer_window_bytes);
  striping_ = Striping(sockets.size());
  paths_.resize(sockets.size());
  for (UniqueFd& socket : sockets) {
    streams_.push_back(std::make_unique<Stream>(std::move(socket)));
    watches_.emplace_back(state_.events, streams_.back()->fd(), streams_.back().get());
  }
  state_.sockets += streams_.size();
  heartbeat_.heard(state_.settings.clock.now_ns());
}

Status TcpConnection::state() const {
  if (failure_.failed()) return failure_;
  return dialer_ ? Status::would_block() : Status();
}

Status TcpConnection::post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey,
                                std::uint64_t cookie) {
  const Status status = state();
  if (!status.ok()) return status;
  if (closed_by_peer_) {
    fail({Code::peer_lost, kPeerClosed});
    return failure_;
  }
  if (!sender_.has_room()) return Status::would_block();
  sender_.post(data, bytes, tag, cookie);
  state_.events.announce_work();
  return {};
}

Status TcpConnection::post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
  const Status status = state();
  if (!status.ok()) return status;
  if (buffers.empty() || buffers.size() > kMaxGroupedReceives) {
    return {Code::invalid_argument, "a receive takes 1 to 8 buffers"};
  }
  if (receiver_.posted_groups() >= kMaxReceiveGroups) return Status::would_block();
  // A failure here completes the post like any other.
  const Status posted = receiver_.post(buffers, cookie);
  if (!posted.ok()) fail_telling_the_peer(posted);
  end_unless_useful();
  state_.events.announce_work();
  return {};
}

void TcpConnection::progress_dialing() {
  const Status status = dialer_->progress();
  if (status.is_would_block()) return;
  if (status.ok()) {
    std::vector<UniqueFd> sockets = dialer_->take_sockets();
    const std::uint64_t window_bytes = dialer_->peer_window_bytes();
    dialer_.reset();
    establish(std::move(sockets), window_bytes);
  } else {
    dialer_.reset();
    failure_ = status;
  }
}

void TcpConnection::progress(std::int64_t now_ns, bool try_all) {
  more_work_ = false;
  if (dialer_) {
    progress_dialing();
    if (dialer_) return;
  }
  if (failure_.failed()) {
    if (telling_) finish_failing(now_ns);
    return;
  }
  if (closed_by_peer_) return;
  if (try_all) {
    for (auto& stream : streams_) stream->readable = true;
  }
  const std::uint64_t granted_before = sender_.outstanding();
  write(now_ns);
  if (!failure_.failed()) read(now_ns);
  const bool window_opened = sender_.outstanding() < granted_before && sender_.has_chunk();
  if (!failure_.failed() && (window_opened || control_queued_)) write(now_ns);
}

void TcpConnection::check_peer(std::int64_t now_ns) {
  if (dialer_ || failure_.failed() || closed_by_peer_) return;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (paths_[i].is_lost(read_path_facts(streams_[i]->fd()), now_ns,
                          state_.settings.peer_timeout_ns())) {
      return fail({Code::peer_lost, "the peer's host stopped answering"});
    }
  }
  switch (heartbeat_.tick(now_ns)) {
    case Heartbeat::Action::none:
      break;
    case Heartbeat::Action::send_ping:
      send_control({.type = FrameType::ping});
      break;
    case Heartbeat::Action::peer_lost:
      return fail({Code::peer_lost, "the peer stopped answering heartbeats"});
  }
}

void TcpConnection::add_to(Counters& counters) const {
  for (const auto& stream : streams_) counters.bytes_sent += stream->bytes_sent();
  counters.payload_sent += sender_.payload_sent();
  counters.messages_sent += sender_.messages_sent();
  counters.unexpected_bytes += receiver_.unexpected_bytes();
}

void TcpConnection::log_failure(const Status& status) const {
  if (status.code() == Code::invalid_argument && receiver_.oversize().message_bytes > 0) {
    THINWIRE_WARN(state_.settings.log, "%s: message of %llu bytes, buffer holds %llu",
                  peer_name_.c_str(),
                  static_cast<unsigned long long>(receiver_.oversize().message_bytes),
                  static_cast<unsigned long long>(receiver_.oversize().buffer_bytes));
    return;
  }
  if (status.text() == kPeerClosed) {  // how a job normally ends
    THINWIRE_INFO(state_.settings.log, "%s: %s", peer_name_.c_str(), status.text());
    return;
  }
  THINWIRE_WARN(state_.settings.log, "%s: %s (%s)", peer_name_.c_str(), status.text(),
                status.native() == 0 ? "no native error" : std::strerror(status.native()));
}

// Completes everything and lets the peer see the end of the streams. The sockets stay until the
// connection is destroyed.
void TcpConnection::fail(const Status& status) {
  if (failure_.failed()) return;
  failure_ = status;
  log_failure(status);
  sender_.fail(status);
  receiver_.fail(status);
  for (auto& stream : streams_) ::shutdown(stream->fd(), SHUT_WR);
}

// A frame that is partly in the kernel points into the caller's memory and has to go out before
// the error can be told: its post completes only then.
void TcpConnection::fail_telling_the_peer(const Status& status) {
  if (failure_.failed()) return;
  failure_ = status;
  log_failure(status);
  receiver_.fail(status);
  FrameHeader header{.type = FrameType::error};
  header.offset = static_cast<std::uint64_t>(status.code());
  header.total_bytes = receiver_.oversize().message_bytes;
  header.tag = receiver_.oversize().buffer_bytes;
  for (auto& stream : streams_) {
    stream->drop_unsent();
    stream->push_control(header);
  }
  const std::int64_t now_ns = state_.settings.clock.now_ns();
  telling_ = true;
  tell_until_ns_ = now_ns + kTellingNs;
  finish_failing(now_ns);
}

void TcpConnection::finish_failing(std::int64_t now_ns) {
  bool under_way = false;
  for (auto& stream : streams_) {
    sent_.clear();
    const Status status = stream->flush(sent_);
    under_way = under_way || (status.ok() && stream->has_queued());
  }
  if (under_way && now_ns < tell_until_ns_) return;
  telling_ = false;
  sender_.fail(failure_);
  for (auto& stream : streams_) ::shutdown(stream->fd(), SHUT_WR);
}

void TcpConnection::say_goodbye() {
  for (auto& stream : streams_) {
    if (!failure_.failed()) {
      stream->drop_unsent();
      sent_.clear();
      if (stream->flush(sent_).ok() && !stream->is_mid_frame()) {
        stream->push_control({.type = FrameType::bye});
        [[maybe_unused]] const Status told = stream->flush(sent_);
      }
    }
    ::shutdown(stream->fd(), SHUT_WR);
    // Unread data would make the kernel reset the connection, and the peer lose what it has not
    // read yet.
    for (std::size_t total = 0; total < kDrainBytes;) {
      const ssize_t n = ::recv(stream->fd(), nullptr, kDrainBytes, MSG_TRUNC | MSG_DONTWAIT);
      if (n <= 0) break;
      total += static_cast<std::size_t>(n);
    }
  }
}

}  // namespace thinwire::transports::tcp
