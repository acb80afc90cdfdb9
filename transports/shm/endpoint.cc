#include "transports/shm/endpoint.h"

#include <algorithm>

namespace thinwire::transports::shm {

namespace {

constexpr Capabilities kCapabilities{.max_message_bytes = std::size_t{1} << 40,
                                     .preferred_piece_bytes = 128 * 1024,
                                     .cuda_memory = false};
// Messages do not wait for the control connections: peers' deaths do.
constexpr std::int64_t kControlEveryNs = 1'000'000;
constexpr std::int64_t kSettingUpWaitUs = 2'000;
constexpr std::int64_t kLongestWaitUs = 100'000;
constexpr std::size_t kMaxCallers = 64;

std::span<const std::byte> control_hello() {
  return std::as_bytes(std::span<const std::uint64_t, 1>(&kControlHello, 1));
}

}  // namespace

ShmEndpoint::ShmEndpoint(const Settings& settings, std::unique_ptr<Endpoint> control)
    : control_(std::move(control)),
      state_(settings, *control_),
      arrivals_(kControlHello, kStranger, settings.log) {}

ShmEndpoint::~ShmEndpoint() {
  accepted_.clear();
  arrivals_.clear();
}

const Capabilities& ShmEndpoint::capabilities() const { return kCapabilities; }

Result<std::unique_ptr<Listener>> ShmEndpoint::listen() {
  auto control = control_->listen();
  if (!control.ok()) return control.status();
  setting_up_.store(true);
  state_.events.interrupt();
  return std::unique_ptr<Listener>(
      new ControlListener(kMark, std::move(control).value(), state_.listeners));
}

Result<std::unique_ptr<Connection>> ShmEndpoint::connect(const Handle& handle,
                                                         std::span<const std::byte> hello) {
  if (hello.size() > kMaxHelloBytes) {
    return Status(Code::invalid_argument, "the hello is too long");
  }
  const Result<Handle> target = unmark_handle(handle, kMark);
  if (!target.ok()) {
    THINWIRE_WARN(state_.settings.log, "%s", target.status().text());
    return target.status();
  }
  if (!local_) {
    auto opened = LocalListener::open();
    if (!opened.ok()) return opened.status();
    local_ = std::move(opened).value();
    state_.events.add(local_->get());
  }
  auto control = control_->connect(target.value(), control_hello());
  if (!control.ok()) return control.status();
  setting_up_.store(true);
  state_.events.interrupt();
  auto link = std::make_unique<ControlLink>(state_.links, std::move(control).value());
  return std::unique_ptr<Connection>(
      new ShmConnection(state_, std::move(link), hello, local_->name()));
}

// One at a time: what this endpoint takes, no other endpoint can accept, and the next try_accept()
// on the listener may be another endpoint's.
void ShmEndpoint::take_arrival(ControlListener& listener) {
  const bool has_one = std::ranges::any_of(
      accepted_, [&](const Accepted& each) { return each.listener == listener.number(); });
  if (has_one || arrivals_.has_of(listener.number())) return;
  arrivals_.take(listener, *control_, state_.links,
                 state_.settings.clock.now_ns() + state_.settings.connect_timeout_ns());
}

void ShmEndpoint::answer_arrivals() {
  for (Arrivals::Introduced& arrival : arrivals_.introduced()) {
    const ControlMessage introduction = from_frame(arrival.link->take_frame());
    if (introduction.kind != ControlKind::introduction ||
        introduction.hello.size() > kMaxHelloBytes) {
      arrivals_.refuse(arrival.link->peer_name(), "it does not introduce itself");
      continue;
    }
    auto accepted = ShmConnection::accept(state_, std::move(arrival.link), introduction);
    if (accepted.ok())
      accepted_.push_back({arrival.listener, std::move(accepted).value()});
    else
      THINWIRE_WARN(state_.settings.log, "%s (errno %d)", accepted.status().text(),
                    accepted.status().native());
  }
}

Result<std::unique_ptr<Connection>> ShmEndpoint::try_accept(Listener& listener) {
  auto* ours = dynamic_cast<ControlListener*>(&listener);
  if (ours == nullptr || ours->transport_number() != kMark.number)
    return Status(Code::invalid_argument, "not a listener of this transport");
  take_arrival(*ours);
  if (arrivals_.empty() && accepted_.empty()) return Status::would_block();
  setting_up_.store(true);
  look_at_control(state_.settings.clock.now_ns());
  answer_arrivals();
  std::erase_if(accepted_, [](const Accepted& each) { return each.connection->state().failed(); });
  for (auto at = accepted_.begin(); at != accepted_.end(); ++at) {
    if (at->listener != ours->number()) continue;
    std::unique_ptr<Connection> connection = std::move(at->connection);
    accepted_.erase(at);
    return connection;
  }
  return Status::would_block();
}

Result<MemoryKey> ShmEndpoint::register_memory(void*, std::size_t, MemoryKind kind) {
  if (kind != MemoryKind::host) {
    return Status(Code::invalid_argument, "the shared-memory transport moves host memory only");
  }
  return MemoryKey{};
}

bool ShmEndpoint::take_segment(Caller& caller, std::int64_t now_ns) {
  std::uint64_t nonce = 0;
  UniqueFd fd;
  const Status received = caller.socket.receive_fd(nonce, fd);
  if (received.is_would_block() && now_ns < caller.deadline_ns) return false;
  const auto found = std::ranges::find_if(state_.connections, [&](const ShmConnection* each) {
    return received.ok() && each->is_introducing() && each->nonce() == nonce;
  });
  if (found == state_.connections.end()) {
    ++strangers_;
  } else {
    (*found)->take_segment(std::move(caller.socket), fd);
  }
  return true;
}

void ShmEndpoint::take_segments(std::int64_t now_ns) {
  if (!local_) return;
  const std::int64_t deadline_ns = now_ns + state_.settings.connect_timeout_ns();
  while (callers_.size() < kMaxCallers) {
    LocalSocket socket = local_->accept();
    if (!socket) break;
    callers_.push_back({std::move(socket), deadline_ns});
  }
  std::erase_if(callers_, [&](Caller& caller) { return take_segment(caller, now_ns); });
}

bool ShmEndpoint::is_setting_up() const {
  return !arrivals_.empty() || !callers_.empty() || state_.listeners > 0 ||
         std::ranges::any_of(state_.connections, &ShmConnection::is_introducing);
}

void ShmEndpoint::look_at_control(std::int64_t now_ns) {
  next_control_ns_ = now_ns + kControlEveryNs;
  state_.links.poll();
  take_segments(now_ns);
  arrivals_.progress(now_ns);
  for (ShmConnection* connection : state_.connections) connection->progress_control(now_ns);
  setting_up_.store(is_setting_up());
}

std::size_t ShmEndpoint::poll(std::span<Completion> out) {
  state_.events.begin_poll();
  if (std::exchange(armed_, false)) {
    for (ShmConnection* connection : state_.connections) connection->disarm();
  }
  const std::int64_t now_ns = state_.settings.clock.now_ns();
  if (setting_up_.load() || now_ns >= next_control_ns_) look_at_control(now_ns);
  bool busy = false;
  for (ShmConnection* connection : state_.connections) busy |= connection->progress();
  const std::size_t count = state_.finished.drain(out);
  arm_if_wanted(!busy && state_.finished.empty() && count == 0);
  return count;
}

// Whoever waits meanwhile either sleeps on what was armed here, or is sent round again.
void ShmEndpoint::arm_if_wanted(bool idle) {
  if (idle && state_.events.wants_arming()) {
    armed_ = true;
    if (std::ranges::all_of(state_.connections, &ShmConnection::arm)) {
      return state_.events.set_armed();
    }
  }
  state_.events.interrupt();
}

// While connections are made, what matters comes over the control connections; afterwards those
// only tell of deaths that the local sockets do not, which may take kLongestWaitUs.
void ShmEndpoint::wait(std::int64_t timeout_us) {
  if (setting_up_.load())
    control_->wait(std::min(timeout_us, kSettingUpWaitUs));
  else
    state_.events.wait(std::min(timeout_us, kLongestWaitUs));
}

Counters ShmEndpoint::counters() const {
  Counters counters = state_.past;
  for (const ShmConnection* connection : state_.connections) connection->add_to(counters);
  counters.strangers_refused +=
      control_->counters().strangers_refused + arrivals_.refused() + strangers_;
  return counters;
}

}  // namespace thinwire::transports::shm
