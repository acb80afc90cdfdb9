#include "transports/shm/connection.h"

#include <algorithm>
#include <cstring>

#include "transports/random.h"

namespace thinwire::transports::shm {

namespace {

constexpr std::size_t kMaxReceiveGroups = 4096;
// Of Side::may_read; 0: not known yet.
constexpr std::uint32_t kMayRead = 1;
constexpr std::uint32_t kMayNotRead = 2;

}  // namespace

ShmConnection::ShmConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                             std::span<const std::byte> hello, const SocketName& socket)
    : state_(state),
      number_(state.next_connection++),
      link_(std::move(link)),
      peer_name_(link_->peer_name()),
      hello_(hello.begin(), hello.end()),
      connecting_(true),
      nonce_(random_number()),
      socket_name_(socket),
      sender_(number_, state.finished),
      receiver_(number_, state.finished) {
  state_.connections.push_back(this);
}

ShmConnection::ShmConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                             const ControlMessage& introduction)
    : state_(state),
      number_(state.next_connection++),
      link_(std::move(link)),
      peer_name_(link_->peer_name()),
      hello_(introduction.hello),
      connecting_(false),
      nonce_(introduction.nonce),
      introduced_(true),
      sender_(number_, state.finished),
      receiver_(number_, state.finished) {
  state_.connections.push_back(this);
}

Result<std::unique_ptr<ShmConnection>> ShmConnection::accept(EndpointState& state,
                                                             std::unique_ptr<ControlLink> link,
                                                             const ControlMessage& introduction) {
  std::unique_ptr<ShmConnection> connection(
      new ShmConnection(state, std::move(link), introduction));
  if (const Status made = connection->make_segment(introduction.socket); !made.ok()) {
    ControlMessage refusal;
    refusal.kind = ControlKind::refusal;
    refusal.error = static_cast<std::uint64_t>(made.native());
    connection->link_->send(to_frame(std::move(refusal)));
    return made;
  }
  return connection;
}

ShmConnection::~ShmConnection() {
  std::erase(state_.connections, this);
  add_to(state_.past);
  if (shared_ != nullptr && !failure_.failed()) end(End::closed);
  if (socket_) state_.events.remove(socket_.get());
  state_.finished.forget(number_);
  state_.links.let_go(std::move(link_));
}

Status ShmConnection::make_segment(const SocketName& name) {
  auto socket = LocalSocket::connect(name);
  if (!socket.ok()) return socket.status();
  UniqueFd fd;
  auto segment = Segment::create(sizeof(SharedState), fd);
  if (!segment.ok()) return segment.status();
  auto* shared = reinterpret_cast<SharedState*>(segment.value().data());
  shared->magic = kSegmentMagic;
  shared->version = kSegmentVersion;
  wire(std::move(segment).value(), std::move(socket).value());
  return socket_.send_fd(nonce_, fd);
}

void ShmConnection::take_segment(LocalSocket socket, const UniqueFd& fd) {
  auto segment = Segment::map(fd, sizeof(SharedState));
  if (!segment.ok()) return fail(segment.status());
  const auto* shared = reinterpret_cast<const SharedState*>(segment.value().data());
  if (shared->magic != kSegmentMagic || shared->version != kSegmentVersion) {
    return fail({Code::peer_lost, "the peer's shared memory is of another version"});
  }
  wire(std::move(segment).value(), std::move(socket));
}

void ShmConnection::wire(Segment segment, LocalSocket socket) {
  segment_ = std::move(segment);
  socket_ = std::move(socket);
  state_.events.add(socket_.get());
  shared_ = reinterpret_cast<SharedState*>(segment_.data());
  sender_.wire(out_lane());
  receiver_.wire(in_lane(), remote_);
  own_side().probe.store(reinterpret_cast<std::uintptr_t>(&nonce_), std::memory_order_release);
}

// Which side can read the other's memory, each finds out for itself.
void ShmConnection::settle_reading() {
  std::uint32_t own = own_side().may_read.load(std::memory_order_relaxed);
  const std::uint64_t probe = peer_side().probe.load(std::memory_order_acquire);
  if (own == 0 && probe != 0) {
    if (state_.settings.cross_memory) remote_.try_out(socket_, probe, nonce_);
    own = remote_.is_readable() ? kMayRead : kMayNotRead;
    own_side().may_read.store(own, std::memory_order_release);
  }
  const std::uint32_t peers = peer_side().may_read.load(std::memory_order_acquire);
  if (peers == kMayRead) sender_.expose_long_messages();
  reading_is_settled_ = own != 0 && peers != 0;
}

Status ShmConnection::post_send(const void* data, std::size_t bytes, std::uint64_t tag, MemoryKey,
                                std::uint64_t cookie) {
  const Status status = state();
  if (!status.ok()) return status;
  if (lingers_) {
    fail({Code::peer_lost, kPeerClosed});
    return failure_;
  }
  state_.events.interrupt();
  const Status posted = sender_.post(data, bytes, tag, cookie);
  announce();
  return posted;
}

Status ShmConnection::post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
  const Status status = state();
  if (!status.ok()) return status;
  if (buffers.empty() || buffers.size() > kMaxGroupedReceives) {
    return {Code::invalid_argument, "a receive takes 1 to 8 buffers"};
  }
  if (receiver_.posted_groups() >= kMaxReceiveGroups) return Status::would_block();
  state_.events.interrupt();
  receiver_.post(buffers, cookie);
  announce();
  return {};
}

void ShmConnection::give_back(void* view) {
  if (shared_ == nullptr) return;
  receiver_.give_back(view);
  announce();
}

void ShmConnection::introduce() {
  ControlMessage introduction;
  introduction.socket = socket_name_;
  introduction.nonce = nonce_;
  introduction.hello = hello_;
  link_->send(to_frame(std::move(introduction)));
  introduced_ = true;
}

void ShmConnection::handle(const ControlMessage& message) {
  if (connecting_ && shared_ == nullptr && message.kind == ControlKind::refusal) {
    return fail({Code::peer_lost, "the peer has no way to share memory with us",
                 static_cast<int>(message.error)});
  }
  fail({Code::peer_lost, "the peer's message is out of turn"});
}

void ShmConnection::progress_control(std::int64_t now_ns) {
  link_->progress();
  if (failure_.failed()) return;
  const Status link = link_->state();
  if (introduced_by_ns_ == 0) introduced_by_ns_ = now_ns + state_.settings.connect_timeout_ns();
  if (link.ok() && !introduced_) introduce();
  while (link_->has_frame() && !failure_.failed()) handle(from_frame(link_->take_frame()));
  if (failure_.failed()) return;
  if (shared_ != nullptr) {
    peer_is_gone_ = peer_is_gone_ || link.failed() || !socket_.drain();
  } else if (link.failed()) {
    fail(link);
  } else if (now_ns >= introduced_by_ns_) {
    fail({Code::peer_lost, "the peer did not answer through shared memory in time"});
  }
}

bool ShmConnection::progress() {
  if (shared_ == nullptr || failure_.failed()) return false;
  if (!reading_is_settled_) settle_reading();
  // Looked at first: what came before the end is there by now.
  const End peer_end = in_lane().end.load(std::memory_order_acquire);
  const bool sent = sender_.progress();
  const bool received = receiver_.progress();
  announce();
  return check_ends(peer_end, peer_is_gone_) || sent || received;
}

bool ShmConnection::check_ends(End peer_end, bool peer_is_gone) {
  const Status& seen = receiver_.failure();
  if (seen.code() == Code::invalid_argument) {
    in_lane().message_bytes.store(receiver_.message_bytes(), std::memory_order_relaxed);
    in_lane().buffer_bytes.store(receiver_.buffer_bytes(), std::memory_order_relaxed);
    fail(seen, End::too_long);
  } else if (seen.failed()) {
    fail(seen);
  } else if (sender_.is_corrupt()) {
    fail({Code::peer_lost, "the peer's lane is corrupt"});
  } else if (peer_end == End::too_long) {
    fail({Code::invalid_argument, "a message is longer than the peer's receive buffer"});
  } else if (peer_end == End::closed) {
    if (linger()) return false;
    fail({Code::peer_lost, kPeerClosed});
  } else if (peer_end != End::open) {
    fail({Code::peer_lost, "the peer failed (its log says why)"});
  } else if (peer_is_gone) {
    fail({Code::peer_lost, "the peer died"});
  } else {
    return false;
  }
  return true;
}

// What the peer sent before it closed is there, and its receives may come yet. True while there is
// some of it and nothing is posted that it cannot serve.
bool ShmConnection::linger() {
  const bool may =
      receiver_.holds_messages() && receiver_.posted_groups() == 0 && !sender_.is_busy();
  // A closed socket would wake up for ever.
  if (may && !lingers_) state_.events.remove(socket_.get());
  lingers_ = may;
  return may;
}

// Whoever comes second to the exchange sees what the other did before its own: either this side
// sees that the peer sleeps, or the peer sees what is new when it arms.
void ShmConnection::announce() {
  const bool wrote = sender_.wrote();
  const bool moved = receiver_.moved();
  if ((wrote || moved) && peer_side().sleeps.exchange(0) != 0) socket_.ring();
}

bool ShmConnection::arm() {
  if (shared_ == nullptr || failure_.failed()) return true;
  own_side().sleeps.exchange(1);
  const bool quiet = !sender_.has_work() && !receiver_.has_work();
  return quiet && (lingers_ ||
                   (!peer_is_gone_ && in_lane().end.load(std::memory_order_acquire) == End::open));
}

void ShmConnection::disarm() {
  if (shared_ == nullptr) return;
  own_side().sleeps.store(0, std::memory_order_relaxed);
  if (!failure_.failed() && !socket_.drain()) peer_is_gone_ = true;
}

void ShmConnection::log_failure(const Status& status) const {
  const Log& log = state_.settings.log;
  const bool here = receiver_.failure().code() == Code::invalid_argument;
  if (status.code() == Code::invalid_argument && shared_ != nullptr) {
    const Lane& lane = here ? in_lane() : out_lane();
    THINWIRE_WARN(
        log, "%s: message of %llu bytes, %s holds %llu", peer_name_.c_str(),
        static_cast<unsigned long long>(lane.message_bytes.load(std::memory_order_relaxed)),
        here ? "buffer" : "its buffer",
        static_cast<unsigned long long>(lane.buffer_bytes.load(std::memory_order_relaxed)));
  } else if (status.text() == kPeerClosed) {  // how a job normally ends
    THINWIRE_INFO(log, "%s: %s", peer_name_.c_str(), status.text());
  } else {
    THINWIRE_WARN(log, "%s: %s%s%s", peer_name_.c_str(), status.text(),
                  status.native() == 0 ? "" : ": ",
                  status.native() == 0 ? "" : std::strerror(status.native()));
  }
}

void ShmConnection::end(End how) {
  out_lane().end.store(how, std::memory_order_release);
  if (peer_side().sleeps.exchange(0) != 0) socket_.ring();
}

void ShmConnection::fail(const Status& status, End how) {
  if (failure_.failed()) return;
  log_failure(status);
  failure_ = status;
  if (shared_ != nullptr) end(how);
  // A dead peer's socket would wake up for ever.
  if (socket_) state_.events.remove(socket_.get());
  sender_.fail(status);
  receiver_.fail(status);
  state_.events.interrupt();
}

void ShmConnection::add_to(Counters& counters) const {
  counters.bytes_sent += sender_.payload_bytes() + sender_.entries() * sizeof(Entry);
  counters.payload_sent += sender_.payload_bytes();
  counters.messages_sent += sender_.messages();
  counters.unexpected_bytes += receiver_.unexpected_bytes();
}

}  // namespace thinwire::transports::shm
