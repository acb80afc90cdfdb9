#include "transports/verbs/connection.h"

#include <algorithm>

#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {

namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kLastMessagesNs = 2'000 * kMillisecondNs;
constexpr const char* kPeerClosed = "the peer closed the connection";

ControlMessage where_message(ControlKind kind) {
  ControlMessage message;
  message.kind = kind;
  message.slots = kSlots;
  message.slot_bytes = kSlotBytes;
  message.window_bytes = kWindowBytes;
  return message;
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
  const std::size_t paths = introduction.addresses.size();
  if (paths < 2 || paths > kMaxDataPaths + 1) {
    return Status(Code::peer_lost, "the peer's introduction makes no sense");
  }
  Status status = connection->make_channel(paths);
  if (status.ok()) status = connection->connect_channel(introduction);
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

Status VerbsConnection::make_channel(std::size_t paths) {
  auto made =
      Channel::create(*state_.context, state_.registrations, state_.finished, number_, paths);
  if (!made.ok()) return made.status();
  channel_ = std::move(made).value();
  return {};
}

void VerbsConnection::send(const ControlMessage& message) {
  link_->send(to_frame(message));
  state_.control_is_urgent = true;
}

void VerbsConnection::introduce() {
  introduced_ = true;
  const auto paths = static_cast<std::size_t>(state_.settings().config.verbs_queue_pairs) + 1;
  const Status made = make_channel(paths);
  if (!made.ok()) return fail_and_tell(made);
  tell_where(ControlKind::introduction);
}

void VerbsConnection::tell_where(ControlKind kind) {
  ControlMessage message = where_message(kind);
  message.addresses = channel_->addresses();
  if (kind == ControlKind::introduction) {
    message.hello_bytes = static_cast<std::uint16_t>(hello_.size());
    message.blob = hello_;
  }
  send(message);
}

Status VerbsConnection::connect_channel(const ControlMessage& where) {
  if (where.slots != kSlots || where.slot_bytes != kSlotBytes ||
      where.window_bytes != kWindowBytes) {
    return {Code::peer_lost, "the peer's slots are of another size"};
  }
  if (!where.addresses.empty()) {
    ibv_gid gid{};
    std::copy(where.addresses[0].gid.begin(), where.addresses[0].gid.end(), gid.raw);
    peer_gid_ = text_of(gid);
  }
  return channel_->connect(where.addresses);
}

Status VerbsConnection::take_answer(const ControlMessage& answer) {
  if (!connecting_ || !channel_ || established_) {
    return {Code::peer_lost, "the peer's answer is out of turn"};
  }
  const Status connected = connect_channel(answer);
  if (!connected.ok()) return connected;
  ControlMessage ready;
  ready.kind = ControlKind::ready;
  send(ready);
  established_ = true;
  return {};
}

void VerbsConnection::handle(const ControlMessage& message) {
  Status status;
  switch (message.kind) {
    case ControlKind::introduction:
      status = {Code::peer_lost, "the peer introduces itself twice"};
      break;
    case ControlKind::answer:
      status = take_answer(message);
      break;
    case ControlKind::ready:
      established_ = established_ || !connecting_;
      break;
    case ControlKind::error:
      return peer_failed(message);
    case ControlKind::goodbye:
      said_goodbye_ = true;
      delivered_ = message.blob;
      return;
    case ControlKind::broken:
      if (channel_) channel_->path_is_broken(message.path, message.epoch);
      break;
    case ControlKind::resume:
      if (channel_) status = channel_->take_peer_resume(message);
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
      handle(message.value());
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
  return busy || mending_since_ns_ != 0;
}

bool VerbsConnection::finish_goodbye(std::int64_t now_ns) {
  if (goodbye_until_ns_ == 0) goodbye_until_ns_ = now_ns + kLastMessagesNs;
  if (channel_->has_received(delivered_) || now_ns >= goodbye_until_ns_) {
    fail({Code::peer_lost, kPeerClosed});
  }
  return true;
}

// What failed before counts as over when the device would long have failed again.
std::int64_t VerbsConnection::quiet_ns() const {
  const Config& config = state_.settings().config;
  constexpr std::int64_t kUnitNs = 4096;
  // Devices may wait four times as long as they are asked to.
  const std::int64_t device_ns =
      (kUnitNs << std::min<std::int64_t>(config.ib_timeout, 31)) * 4 * (config.ib_retry_cnt + 1);
  return std::max(state_.settings().peer_timeout_ns(), 2 * device_ns);
}

void VerbsConnection::note_path_failure(const PathFailure& failure, std::int64_t now_ns) {
  path_words_ = "path " + std::to_string(failure.path) + ": " + failure.words + ", local GID " +
                text_of(state_.context->gid().gid) + ", remote GID " + peer_gid_;
  THINWIRE_INFO(state_.settings().log, "%s: %s", peer_name_.c_str(), path_words_.c_str());
  if (mending_since_ns_ == 0) mending_since_ns_ = now_ns;
  last_path_failure_ns_ = now_ns;
  ControlMessage broken;
  broken.kind = ControlKind::broken;
  broken.path = failure.path;
  broken.epoch = failure.epoch;
  send(broken);
}

void VerbsConnection::mend(std::int64_t now_ns) {
  constexpr std::int64_t kForceNs = 2'000 * kMillisecondNs;
  while (const auto failure = channel_->take_path_failure()) note_path_failure(*failure, now_ns);
  if (!channel_->is_mending()) {
    if (mending_since_ns_ == 0 || now_ns - last_path_failure_ns_ < quiet_ns()) return;
    THINWIRE_WARN(state_.settings().log, "%s: goes on after a failure of %s", peer_name_.c_str(),
                  path_words_.c_str());
    mending_since_ns_ = 0;
    return;
  }
  if (mending_since_ns_ == 0) mending_since_ns_ = last_path_failure_ns_ = now_ns;
  if (now_ns - mending_since_ns_ > state_.settings().peer_timeout_ns()) {
    return fail_and_tell({Code::peer_lost, "no way to the peer works any more"});
  }
  const bool force = now_ns - last_path_failure_ns_ > kForceNs;
  while (const auto resume = channel_->take_resume(force)) send(*resume);
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
                  state_.context->name().c_str(), status.text(), status.native(),
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
