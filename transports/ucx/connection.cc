#include "transports/ucx/connection.h"

#include <algorithm>

#include "transports/ucx/registrations.h"

namespace thinwire::transports::ucx {

namespace {

constexpr std::size_t kMaxReceiveGroups = 4096;
constexpr std::int64_t kMillisecondNs = 1'000'000;
// For the control connection's word on a failure that UCX has seen.
constexpr std::int64_t kVerdictNs = 250 * kMillisecondNs;
// For the messages that precede a goodbye.
constexpr std::int64_t kLastMessagesNs = 2'000 * kMillisecondNs;
// Each worker of its own is one more for every poll() to look at.
constexpr std::size_t kMaxTcpWorkers = 8;
constexpr const char* kPeerClosed = "the peer closed the connection";

bool shares_memory(const EndpointState& state, const ControlMessage& introduction) {
  return introduction.domain != 0 && introduction.domain == state.settings().domain &&
         has_shared_memory(state.context.resources());
}

}  // namespace

UcxConnection::UcxConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                             std::span<const std::byte> hello)
    : state_(state),
      number_(state.next_connection++),
      link_(std::move(link)),
      peer_name_(link_->peer_name()),
      hello_(hello.begin(), hello.end()),
      connecting_(true) {
  state_.connections.push_back(this);
}

Result<std::unique_ptr<UcxConnection>> UcxConnection::accept(EndpointState& state,
                                                             std::unique_ptr<ControlLink> link,
                                                             const ControlMessage& introduction) {
  std::unique_ptr<UcxConnection> connection(
      new UcxConnection(state, std::move(link), introduction));
  const Watching watching =
      shares_memory(state, introduction) ||
              (has_tcp_only(state.context.resources()) && state.workers.size() < kMaxTcpWorkers)
          ? Watching::by_control
          : Watching::by_ucx;
  const Status made = connection->make_channel(watching, introduction.endpoint);
  if (!made.ok()) return made;
  ControlMessage answer;
  answer.kind = ControlKind::answer;
  answer.endpoint = state.number;
  answer.watching = static_cast<std::uint16_t>(watching);
  connection->tell_where(std::move(answer));
  return connection;
}

UcxConnection::UcxConnection(EndpointState& state, std::unique_ptr<ControlLink> link,
                             const ControlMessage& introduction)
    : state_(state),
      number_(state.next_connection++),
      link_(std::move(link)),
      peer_name_(link_->peer_name()),
      hello_(introduction.blob),
      connecting_(false),
      introduced_(true) {
  state_.connections.push_back(this);
}

UcxConnection::~UcxConnection() {
  std::erase(state_.connections, this);
  add_to(state_.past);
  if (!failure_.failed() && link_->state().ok()) {
    ControlMessage goodbye;
    goodbye.kind = ControlKind::goodbye;
    // What is broken off need not be waited for.
    const bool in_order = channel_ && !channel_->works_on_posts();
    if (in_order) goodbye.messages = channel_->sender().messages();
    link_->send(to_frame(std::move(goodbye)));
  }
  state_.links.let_go(std::move(link_));
  state_.finished.forget(number_);
  if (channel_) state_.let_go(std::move(channel_), !failure_.failed() && !suspicion_.failed());
}

Status UcxConnection::post_send(const void* data, std::size_t bytes, std::uint64_t tag,
                                MemoryKey memory, std::uint64_t cookie) {
  const Status status = state();
  if (!status.ok()) return status;
  if (lingers_) fail(suspicion_);
  if (failure_.failed()) return failure_;
  if (suspicion_.failed()) return Status::would_block();
  state_.events.interrupt();
  return channel_->post_send(data, bytes, tag, Registrations::type_of(memory), cookie);
}

Status UcxConnection::post_receive(std::span<const ReceiveBuffer> buffers, std::uint64_t cookie) {
  const Status status = state();
  if (!status.ok()) return status;
  if (buffers.empty() || buffers.size() > kMaxGroupedReceives) {
    return {Code::invalid_argument, "a receive takes 1 to 8 buffers"};
  }
  state_.events.interrupt();
  if (channel_->receiver().posted_groups() >= kMaxReceiveGroups) return Status::would_block();
  channel_->receiver().post(buffers, cookie);
  return {};
}

void UcxConnection::introduce() {
  ControlMessage introduction;
  introduction.kind = ControlKind::introduction;
  introduction.endpoint = state_.number;
  if (has_shared_memory(state_.context.resources())) {
    introduction.domain = state_.settings().domain;
  }
  introduction.blob = hello_;
  link_->send(to_frame(std::move(introduction)));
  introduced_ = true;
}

Status UcxConnection::make_channel(Watching watching, std::uint64_t peer_endpoint) {
  auto made = Channel::create(state_, number_, watching, peer_endpoint);
  if (!made.ok()) return made.status();
  channel_ = std::move(made).value();
  return {};
}

void UcxConnection::tell_where(ControlMessage message) {
  message.channel = channel_->number();
  message.window_bytes = kWindowBytes;
  message.blob.assign(channel_->address().begin(), channel_->address().end());
  link_->send(to_frame(std::move(message)));
}

Status UcxConnection::take_answer(const ControlMessage& answer) {
  if (!connecting_ || channel_) return {Code::peer_lost, "the peer's answer is out of turn"};
  const bool by_memory = answer.watching == static_cast<std::uint16_t>(Watching::by_control);
  const Status made =
      make_channel(by_memory ? Watching::by_control : Watching::by_ucx, answer.endpoint);
  if (!made.ok()) return made;
  ControlMessage begin;
  begin.kind = ControlKind::begin;
  tell_where(std::move(begin));
  return wire(answer);
}

Status UcxConnection::wire(const ControlMessage& where) {
  if (!channel_ || is_wired()) return {Code::peer_lost, "the peer's address is out of turn"};
  return channel_->connect(where.blob, where.channel, where.window_bytes);
}

void UcxConnection::handle(const ControlMessage& message, std::int64_t now_ns) {
  Status status;
  switch (message.kind) {
    case ControlKind::introduction:
      status = {Code::peer_lost, "the peer introduces itself twice"};
      break;
    case ControlKind::answer:
      status = take_answer(message);
      break;
    case ControlKind::begin:
      status = wire(message);
      break;
    case ControlKind::error:
      return peer_failed(message);
    case ControlKind::goodbye:
      said_goodbye_ = true;
      messages_to_come_ = message.messages;
      suspicion_ = {Code::peer_lost, kPeerClosed};
      fail_at_ns_ = now_ns + kLastMessagesNs;
      return;
  }
  if (!status.ok()) {
    tell_error(status);
    fail(status);
  }
}

void UcxConnection::peer_failed(const ControlMessage& error) {
  if (error.code != static_cast<std::uint64_t>(Code::invalid_argument)) {
    return fail({Code::peer_lost, "the peer failed (its log says why)"});
  }
  THINWIRE_WARN(state_.settings().log, "%s: message of %llu bytes, its buffer holds %llu",
                peer_name_.c_str(), static_cast<unsigned long long>(error.message_bytes),
                static_cast<unsigned long long>(error.buffer_bytes));
  fail({Code::invalid_argument, "a message is longer than the peer's receive buffer"});
}

void UcxConnection::progress_control(std::int64_t now_ns) {
  link_->progress();
  if (failure_.failed()) return;
  const Status link = link_->state();
  if (introduced_by_ns_ == 0) {
    introduced_by_ns_ = now_ns + state_.settings().connect_timeout_ns();
  }
  if (link.ok() && !introduced_) introduce();
  while (link_->has_frame() && !failure_.failed()) handle(from_frame(link_->take_frame()), now_ns);
  if (failure_.failed()) return;
  if (link.failed()) {
    // A goodbye says more than the end of the connection that carried it.
    if (!said_goodbye_ || !channel_) fail(link);
  } else if (is_introducing() && now_ns >= introduced_by_ns_) {
    fail({Code::peer_lost, "the peer did not answer as a UCX transport in time"});
  }
}

bool UcxConnection::progress(std::int64_t now_ns) {
  if (failure_.failed()) {
    if (!posts_are_ended_) finish_failing();
    return !posts_are_ended_;
  }
  if (!channel_) return false;
  if (!established_) established_ = channel_->greet(connecting_);
  channel_->grant_if_due();
  const Status seen = channel_->failure();
  if (seen.code() == Code::invalid_argument) {
    tell_error(seen);
    fail(seen);
    return true;
  }
  if (seen.failed()) suspect(seen, now_ns);
  if (!suspicion_.failed()) return false;
  const bool all_here =
      channel_->receiver().messages() >= messages_to_come_ && channel_->receiver().in_flight() == 0;
  const bool is_over = said_goodbye_ && (all_here || seen.failed());
  lingers_ = said_goodbye_ && all_here && channel_->is_useful_alone();
  if (lingers_) return false;
  if (is_over || now_ns >= fail_at_ns_) fail(suspicion_);
  return true;
}

void UcxConnection::suspect(const Status& status, std::int64_t now_ns) {
  state_.look_at_control();
  if (suspicion_.failed()) return;
  suspicion_ = status;
  fail_at_ns_ = now_ns + kVerdictNs;
}

void UcxConnection::log_failure(const Status& status) const {
  const Log& log = state_.settings().log;
  if (channel_ && channel_->receiver().oversize().message_bytes > 0) {
    const Oversize& oversize = channel_->receiver().oversize();
    THINWIRE_WARN(log, "%s: message of %llu bytes, buffer holds %llu", peer_name_.c_str(),
                  static_cast<unsigned long long>(oversize.message_bytes),
                  static_cast<unsigned long long>(oversize.buffer_bytes));
  } else if (status.text() == kPeerClosed) {  // how a job normally ends
    THINWIRE_INFO(log, "%s: %s", peer_name_.c_str(), status.text());
  } else {
    THINWIRE_WARN(log, "%s: %s (%s)", peer_name_.c_str(), status.text(),
                  status.native() < 0 ? state_.context.api().status_string(
                                            static_cast<ucs_status_t>(status.native()))
                                      : "no native error");
  }
}

void UcxConnection::tell_error(const Status& status) {
  if (!link_->state().ok()) return;
  ControlMessage error;
  error.kind = ControlKind::error;
  error.code = static_cast<std::uint64_t>(status.code());
  if (channel_) {
    error.message_bytes = channel_->receiver().oversize().message_bytes;
    error.buffer_bytes = channel_->receiver().oversize().buffer_bytes;
    channel_->tell_to_look();
  }
  link_->send(to_frame(std::move(error)));
  state_.look_at_control();
}

// What UCX has under way is broken off in progress(), because this may run inside its callbacks'
// owners.
void UcxConnection::fail(const Status& status) {
  if (failure_.failed()) return;
  log_failure(status);
  failure_ = status;
  state_.events.interrupt();
}

void UcxConnection::finish_failing() {
  if (channel_) {
    channel_->abort();
    if (channel_->holds_buffers()) return;
    channel_->fail_posts(failure_);
  }
  posts_are_ended_ = true;
}

void UcxConnection::add_to(Counters& counters) const {
  if (!channel_) return;
  counters.bytes_sent += channel_->sender().sent_bytes();
  counters.payload_sent += channel_->sender().payload_bytes();
  counters.messages_sent += channel_->sender().messages();
  counters.unexpected_bytes += channel_->receiver().unexpected_bytes();
}

}  // namespace thinwire::transports::ucx
