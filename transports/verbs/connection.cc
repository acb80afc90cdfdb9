#include "transports/verbs/connection.h"

#include <algorithm>

#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {

namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kLastMessagesNs = 2'000 * kMillisecondNs;
constexpr const char* kPeerClosed = "the peer closed the connection";

// An introduction or an answer; Code::peer_lost: it makes no sense to this side.
Status check(const ControlMessage& peer) {
  if (peer.members < 1 || peer.members > kMaxMergedDevices) {
    return {Code::peer_lost, "the peer's introduction makes no sense"};
  }
  if (peer.slots != kSlots || peer.slot_bytes != kSlotBytes || peer.window_bytes != kWindowBytes) {
    return {Code::peer_lost, "the peer's slots are of another size"};
  }
  return {};
}

}  // namespace

VerbsConnection::VerbsConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                                 std::span<const std::byte> hello)
    : state_(state),
      number_(state.next_connection++),
      link_(std::move(link)),
      peer_name_(link_->peer_name()),
      hello_(hello.begin(), hello.end()),
      connecting_(true) {
  state_.connections.push_back(this);
}

Result<std::unique_ptr<VerbsConnection>> VerbsConnection::accept(
    EndpointState& state, std::unique_ptr<ControlLink> link, const ControlMessage& introduction) {
  auto connection = std::make_unique<VerbsConnection>(state, std::move(link), introduction.blob);
  connection->connecting_ = false;
  connection->introduced_ = true;
  Status status = check(introduction);
  if (status.ok()) {
    status = connection->make_channel(
        introduction,
        data_paths_for(introduction.data_paths, state.contexts.size(), introduction.members));
  }
  if (!status.ok()) return status;
  connection->tell_where(ControlKind::answer);
  return connection;
}

VerbsConnection::~VerbsConnection() {
  std::erase(state_.connections, this);
  add_to(state_.past);
  if (!failure_.failed() && link_->state().ok()) {
    ControlMessage goodbye;
    goodbye.kind = ControlKind::goodbye;
    if (channel_) goodbye.blob = channel_->delivered();
    link_->send(to_frame(goodbye));
  }
  state_.links.let_go(std::move(link_));
  state_.finished.forget(number_);
}

Status VerbsConnection::post_send(const void* data, std::size_t bytes, std::uint64_t tag,
                                  MemoryKey memory, std::uint64_t cookie) {
  const Status status = state();
  if (!status.ok()) return status;
  if (lingers_) fail({Code::peer_lost, kPeerClosed});
  if (failure_.failed()) return failure_;
  if (said_goodbye_) return Status::would_block();
  state_.events.interrupt();
  return channel_->post_send(data, bytes, tag, memory, cookie);
}

Status VerbsConnection::post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
  const Status status = state();
  if (!status.ok()) return status;
  if (buffers.empty() || buffers.size() > kMaxGroupedReceives) {
    return {Code::invalid_argument, "a receive takes 1 to 8 buffers"};
  }
  state_.events.interrupt();
  return channel_->post_receive(buffers, cookie);
}

Status VerbsConnection::post_flush(const void* data, MemoryKey memory, std::uint64_t cookie) {
  const Status status = state();
  if (!status.ok()) return status;
  state_.events.interrupt();
  return channel_->post_flush(data, memory, cookie);
}

Status VerbsConnection::make_channel(const ControlMessage& peer, std::size_t data_paths) {
  const ChannelShape shape{state_.contexts.size(), peer.members, data_paths, connecting_};
  auto made =
      Channel::create(state_.contexts, state_.registrations, state_.finished, number_, shape);
  if (!made.ok()) return made.status();
  channel_ = std::move(made).value();
  channel_->mender().take_peer_ports(peer.ports);
  return {};
}

void VerbsConnection::send(const ControlMessage& message) {
  link_->send(to_frame(message));
  state_.control_is_urgent = true;
}

void VerbsConnection::introduce() {
  introduced_ = true;
  tell_where(ControlKind::introduction);
}

void VerbsConnection::tell_where(ControlKind kind) {
  ControlMessage message;
  message.kind = kind;
  message.slots = kSlots;
  message.slot_bytes = kSlotBytes;
  message.window_bytes = kWindowBytes;
  message.members = static_cast<std::uint16_t>(state_.contexts.size());
  message.ports = ports_up(state_.contexts);
  message.data_paths = static_cast<std::uint16_t>(state_.settings().config.verbs_queue_pairs);
  if (channel_) message.addresses = channel_->addresses();
  if (kind == ControlKind::introduction) {
    message.hello_bytes = static_cast<std::uint16_t>(hello_.size());
    message.blob = hello_;
  }
  send(message);
}

Status VerbsConnection::take_answer(const ControlMessage& answer) {
  if (!connecting_ || channel_) return {Code::peer_lost, "the peer's answer is out of turn"};
  Status status = check(answer);
  if (status.ok() && (answer.addresses.size() < 2 || answer.addresses.size() > kMaxDataPaths + 1)) {
    status = {Code::peer_lost, "the peer's answer makes no sense"};
  }
  if (status.ok()) status = make_channel(answer, answer.addresses.size() - 1);
  if (status.ok()) status = channel_->connect(answer.addresses);
  if (status.ok()) tell_where(ControlKind::ready);
  return status;
}

// The accepting side's answer to it has no addresses: the way is open in both directions.
Status VerbsConnection::take_ready(const ControlMessage& ready) {
  if (!channel_ || established_) return {Code::peer_lost, "the peer is ready out of turn"};
  if (!connecting_) {
    const Status connected = channel_->connect(ready.addresses);
    if (!connected.ok()) return connected;
    ControlMessage back;
    back.kind = ControlKind::ready;
    send(back);
  }
  established_ = true;
  return {};
}

void VerbsConnection::handle(const ControlMessage& message, std::int64_t now_ns) {
  Status status;
  switch (message.kind) {
    case ControlKind::introduction:
      status = {Code::peer_lost, "the peer introduces itself twice"};
      break;
    case ControlKind::answer:
      status = take_answer(message);
      break;
    case ControlKind::ready:
      status = take_ready(message);
      break;
    case ControlKind::error:
      return peer_failed(message);
    case ControlKind::goodbye:
      said_goodbye_ = true;
      delivered_ = message.blob;
      return;
    case ControlKind::broken:
      if (channel_) status = channel_->mender().take_broken(message, now_ns);
      break;
    case ControlKind::resume:
      if (channel_) status = channel_->mender().take_resume(message, now_ns);
      break;
    case ControlKind::resumed:
      if (channel_) status = channel_->mender().take_resumed(message);
      break;
    case ControlKind::ports:
      if (channel_) channel_->mender().take_peer_ports(message.ports);
      break;
  }
  if (!status.ok()) fail_and_tell(status);
}

void VerbsConnection::peer_failed(const ControlMessage& error) {
  if (error.code != static_cast<std::uint64_t>(Code::invalid_argument)) {
    return fail({Code::peer_lost, "the peer failed (its log says why)"});
  }
  THINWIRE_WARN(state_.settings().log, "%s: message of %llu bytes, its buffer holds %llu",
                peer_name_.c_str(), static_cast<unsigned long long>(error.message_bytes),
                static_cast<unsigned long long>(error.buffer_bytes));
  fail({Code::invalid_argument, "a message is longer than the peer's receive buffer"});
}

void VerbsConnection::progress_control(std::int64_t now_ns) {
  link_->progress();
  if (failure_.failed()) return;
  const Status link = link_->state();
  if (introduced_by_ns_ == 0) {
    introduced_by_ns_ = now_ns + state_.settings().connect_timeout_ns();
  }
  if (link.ok() && !introduced_) introduce();
  while (link_->has_frame() && !failure_.failed()) {
    const auto message = from_frame(link_->take_frame());
    if (message.ok())
      handle(message.value(), now_ns);
    else
      fail_and_tell(message.status());
  }
  if (failure_.failed()) return;
  if (link.failed()) {
    // A goodbye says more than the end of the connection that carried it.
    if (!said_goodbye_ || !channel_) fail(link);
  } else if (is_introducing() && now_ns >= introduced_by_ns_) {
    fail({Code::peer_lost, "the peer did not answer as a verbs transport in time"});
  }
}

bool VerbsConnection::progress(std::int64_t now_ns) {
  if (failure_.failed() || !channel_) return false;
  bool busy = channel_->progress();
  const Status seen = channel_->failure();
  if (seen.failed()) {
    fail_and_tell(seen);
    return true;
  }
  if (said_goodbye_) return finish_goodbye(now_ns);
  if (established_) mend(now_ns);
  return busy || channel_->mender().is_mending();
}

bool VerbsConnection::finish_goodbye(std::int64_t now_ns) {
  if (goodbye_until_ns_ == 0) goodbye_until_ns_ = now_ns + kLastMessagesNs;
  if (!channel_->has_received(delivered_) && now_ns < goodbye_until_ns_) return true;
  lingers_ = channel_->is_useful_alone();
  if (!lingers_) fail({Code::peer_lost, kPeerClosed});
  return !lingers_;
}

void VerbsConnection::ports_changed() {
  if (failure_.failed() || !channel_) return;
  channel_->mender().ports_changed();
  ControlMessage ports;
  ports.kind = ControlKind::ports;
  ports.ports = ports_up(state_.contexts);
  send(ports);
}

void VerbsConnection::tell_failure(const PathFailure& failure) {
  const Log& log = state_.settings().log;
  if (failure.why == Stop::move) {
    THINWIRE_INFO(log, "%s: %s", peer_name_.c_str(), failure.words.c_str());
  } else {
    path_words_ = failure.words;
    THINWIRE_WARN(log, "%s: %s", peer_name_.c_str(), failure.words.c_str());
  }
  ControlMessage broken;
  broken.kind = ControlKind::broken;
  broken.path = failure.path;
  broken.epoch = failure.epoch;
  broken.code = static_cast<std::uint64_t>(failure.why);
  send(broken);
}

void VerbsConnection::log_recovery(const PathRecovery& recovery) const {
  const Log& log = state_.settings().log;
  const double ms = static_cast<double>(recovery.after_ns) / 1e6;
  if (recovery.was_moved) {
    THINWIRE_INFO(log, "%s: %s is back after %.1f ms", peer_name_.c_str(), recovery.name.c_str(),
                  ms);
  } else {
    THINWIRE_WARN(log, "%s: %s goes on after %.1f ms", peer_name_.c_str(), recovery.name.c_str(),
                  ms);
  }
}

void VerbsConnection::mend(std::int64_t now_ns) {
  Mender& mender = channel_->mender();
  mender.look(now_ns);
  while (const auto failure = mender.take_failure()) tell_failure(*failure);
  while (const auto recovery = mender.take_recovery()) log_recovery(*recovery);
  if (mender.is_hopeless(now_ns)) {
    return fail_and_tell({Code::peer_lost, "no way to the peer works any more"});
  }
  while (const auto message = mender.take_message(now_ns)) send(*message);
}

void VerbsConnection::log_failure(const Status& status) const {
  const Log& log = state_.settings().log;
  if (channel_ && channel_->oversize().message_bytes > 0) {
    const Oversize& oversize = channel_->oversize();
    THINWIRE_WARN(log, "%s: message of %llu bytes, buffer holds %llu", peer_name_.c_str(),
                  static_cast<unsigned long long>(oversize.message_bytes),
                  static_cast<unsigned long long>(oversize.buffer_bytes));
  } else if (status.text() == kPeerClosed) {  // how a job normally ends
    THINWIRE_INFO(log, "%s: %s", peer_name_.c_str(), status.text());
  } else {
    THINWIRE_WARN(log, "%s (%s): %s (native error %d)%s%s", peer_name_.c_str(),
                  state_.name().c_str(), status.text(), status.native(),
                  path_words_.empty() ? "" : "; ", path_words_.c_str());
  }
}

void VerbsConnection::fail_and_tell(const Status& status) {
  if (failure_.failed()) return;
  if (link_->state().ok()) {
    ControlMessage error;
    error.kind = ControlKind::error;
    error.code = static_cast<std::uint64_t>(status.code());
    if (channel_) {
      error.message_bytes = channel_->oversize().message_bytes;
      error.buffer_bytes = channel_->oversize().buffer_bytes;
    }
    send(error);
  }
  fail(status);
}

void VerbsConnection::fail(const Status& status) {
  if (failure_.failed()) return;
  log_failure(status);
  failure_ = status;
  if (channel_) channel_->fail_posts(status);
  state_.events.interrupt();
}

void VerbsConnection::add_to(Counters& counters) const {
  if (channel_) channel_->add_to(counters);
}

}  // namespace thinwire::transports::verbs
