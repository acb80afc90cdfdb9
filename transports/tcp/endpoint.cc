#include "transports/tcp/endpoint.h"

#include <algorithm>

#include "transports/tcp/connection.h"
#include "transports/tcp/listener.h"

namespace thinwire::transports::tcp {

namespace {
// Up to here trying every socket is cheaper than asking epoll which of them are ready.
constexpr std::size_t kFewSockets = 4;
constexpr std::uint32_t kSetUpEvery = 16;  // polls; set-up is not in a hurry
constexpr std::int64_t kListenEveryNs = 50'000'000;
constexpr std::int64_t kCheckEveryNs = 1'000'000'000;
constexpr std::int64_t kSettingUpWaitUs = 2'000;
constexpr std::int64_t kCheckWaitUs = 250'000;
}  // namespace

TcpEndpoint::TcpEndpoint(const Settings& settings, Device device)
    : state_(settings),
      device_(std::move(device)),
      capabilities_{
          .max_message_bytes = std::size_t{1} << 40,
          .preferred_piece_bytes = static_cast<std::size_t>(settings.config.tcp_chunk_bytes),
          .cuda_memory = false} {}

Result<std::unique_ptr<Listener>> TcpEndpoint::listen() {
  Result<std::unique_ptr<TcpListener>> opened =
      TcpListener::open(state_, device_.interface.addresses.front());
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<Listener>(std::move(opened).value());
}

Result<std::unique_ptr<Connection>> TcpEndpoint::connect(const Handle& handle,
                                                         std::span<const std::byte> hello) {
  if (hello.size() > kMaxHelloBytes) {
    return Status(Code::invalid_argument, "the hello is too long");
  }
  const Result<HandleInfo> decoded = decode_handle(handle);
  if (!decoded.ok()) {
    THINWIRE_WARN(state_.settings.log, "%s (%d)", decoded.status().text(),
                  decoded.status().native());
    return decoded.status();
  }
  const HandleInfo& peer = decoded.value();
  Dialer::Target target;
  target.address = peer.address;
  target.token = peer.token;
  target.same_host = peer.host_hash == state_.settings.host.hash;
  target.streams = stream_count(state_.settings.config, device_.nic, target.same_host);
  for (const SocketAddress& own : device_.interface.addresses) {
    if (own.family != peer.address.family || own.is_loopback() != peer.address.is_loopback()) {
      continue;
    }
    target.source = own;
    // A scope names an interface of the host it came from.
    if (own.is_link_local()) target.address.scope_id = own.scope_id;
    break;
  }
  return std::unique_ptr<Connection>(new TcpConnection(state_, peer, target, hello));
}

Result<std::unique_ptr<Connection>> TcpEndpoint::try_accept(Listener& listener) {
  auto* ours = dynamic_cast<TcpListener*>(&listener);
  if (ours == nullptr) return Status(Code::invalid_argument, "not a listener of this transport");
  ours->progress();
  Result<Arrival> arrival = ours->take();
  if (!arrival.ok()) return arrival.status();
  return std::unique_ptr<Connection>(new TcpConnection(state_, std::move(arrival).value()));
}

// Sockets take any host memory: there is nothing to remember.
Result<MemoryKey> TcpEndpoint::register_memory(void*, std::size_t, MemoryKind kind) {
  if (kind != MemoryKind::host) {
    return Status(Code::invalid_argument, "the TCP transport moves host memory only");
  }
  return MemoryKey{};
}

Status TcpEndpoint::deregister_memory(MemoryKey) { return {}; }

std::size_t TcpEndpoint::poll(std::span<Completion> out) {
  state_.events.clear_work();
  const std::int64_t now_ns = state_.settings.clock.now_ns();
  const bool few = state_.sockets <= kFewSockets;
  const bool setting_up = !state_.listeners.empty() || state_.sockets == 0;
  const bool look =
      state_.events.take_woken() || !few || (setting_up && ++polls_ % kSetUpEvery == 0);
  const bool set_up_event = look && state_.events.collect();
  bool connecting = false;
  bool more_work = false;
  for (std::size_t i = 0; i < state_.connections.size(); ++i) {
    TcpConnection& connection = *state_.connections[i];
    connection.progress(now_ns, few);
    connecting = connecting || connection.is_connecting();
    more_work = more_work || connection.has_more_work();
  }
  progress_listeners(now_ns, set_up_event);
  check_peers(now_ns);
  const std::size_t count = drain(out);
  if (more_work || count == out.size()) state_.events.announce_work();
  longest_wait_us_.store(connecting || !state_.listeners.empty() ? kSettingUpWaitUs : kCheckWaitUs,
                         std::memory_order_relaxed);
  return count;
}

void TcpEndpoint::progress_listeners(std::int64_t now_ns, bool had_event) {
  if (state_.listeners.empty() || (!had_event && now_ns < next_listen_ns_)) return;
  next_listen_ns_ = now_ns + kListenEveryNs;
  for (TcpListener* listener : state_.listeners) listener->progress();
}

void TcpEndpoint::check_peers(std::int64_t now_ns) {
  if (now_ns < next_check_ns_) return;
  const std::int64_t heartbeat_ns = state_.settings.config.heartbeat_s * 1'000'000'000;
  next_check_ns_ =
      now_ns + (heartbeat_ns > 0 ? std::min(kCheckEveryNs, heartbeat_ns / 2) : kCheckEveryNs);
  for (TcpConnection* connection : state_.connections) connection->check_peer(now_ns);
}

// Starts at another connection each time, so that none is starved by a small `out`.
std::size_t TcpEndpoint::drain(std::span<Completion> out) {
  const std::size_t connections = state_.connections.size();
  std::size_t count = 0;
  for (std::size_t i = 0; i < connections && count < out.size(); ++i) {
    const std::size_t index = (first_to_drain_ + i) % connections;
    count += state_.connections[index]->completions().drain(out.subspan(count));
  }
  if (count > 0) ++first_to_drain_;
  return count;
}

void TcpEndpoint::wait(std::int64_t timeout_us) {
  state_.events.wait(std::min(timeout_us, longest_wait_us_.load(std::memory_order_relaxed)));
}

Counters TcpEndpoint::counters() const {
  Counters counters = state_.past;
  for (const TcpConnection* connection : state_.connections) connection->add_to(counters);
  return counters;
}

}  // namespace thinwire::transports::tcp
