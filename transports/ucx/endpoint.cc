#include "transports/ucx/endpoint.h"

#include <algorithm>
#include <cstring>

#include "transports/ucx/channel.h"

namespace thinwire::transports::ucx {

namespace {
constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 40;
constexpr std::size_t kPreferredPieceBytes = 256 * 1024;
// Messages do not wait for the control connections: errors and peers' deaths do.
constexpr std::int64_t kControlEveryNs = 1'000'000;
// The control connection may be slower than the message that says to look at it.
constexpr std::int64_t kUrgentNs = 5'000'000;
constexpr std::int64_t kSettingUpWaitUs = 2'000;
constexpr std::int64_t kLongestWaitUs = 100'000;

std::span<const std::byte> control_hello() {
  return std::as_bytes(std::span<const std::uint64_t, 1>(&kControlHello, 1));
}
}  // namespace

UcxEndpoint::UcxEndpoint(const Context& context, std::unique_ptr<Endpoint> control,
                         Departed& departed)
    : departed_(departed),
      control_(std::move(control)),
      registrations_(context),
      state_(std::make_unique<EndpointState>(context, *control_)),
      arrivals_(kControlHello, kStranger, state_->settings().log),
      capabilities_{.max_message_bytes = kMaxMessageBytes,
                    .preferred_piece_bytes = kPreferredPieceBytes,
                    .cuda_memory = context.handles_cuda()} {}

UcxEndpoint::~UcxEndpoint() {
  greetings_.clear();
  arrivals_.clear();
  if (!state_->finish_departing(state_->settings().clock.now_ns())) {
    departed_.take(std::move(control_), std::move(state_));
  }
}

Result<std::unique_ptr<Listener>> UcxEndpoint::listen() {
  auto control = control_->listen();
  if (!control.ok()) return control.status();
  setting_up_.store(true);
  state_->events.interrupt();
  return std::unique_ptr<Listener>(
      new ControlListener(kMark, std::move(control).value(), state_->listeners));
}

Result<std::unique_ptr<Connection>> UcxEndpoint::connect(const Handle& handle,
                                                         std::span<const std::byte> hello) {
  if (hello.size() > kMaxHelloBytes) {
    return Status(Code::invalid_argument, "the hello is too long");
  }
  const Result<Handle> target = unmark_handle(handle, kMark);
  if (!target.ok()) {
    THINWIRE_WARN(state_->settings().log, "%s", target.status().text());
    return target.status();
  }
  auto control = control_->connect(target.value(), control_hello());
  if (!control.ok()) return control.status();
  setting_up_.store(true);
  state_->events.interrupt();
  auto link = std::make_unique<ControlLink>(state_->links, std::move(control).value());
  return std::unique_ptr<Connection>(new UcxConnection(*state_, std::move(link), hello));
}

// One at a time: what this endpoint takes, no other endpoint can accept, and the next try_accept()
// on the listener may be another endpoint's.
void UcxEndpoint::take_arrival(ControlListener& listener) {
  const bool is_greeted = std::ranges::any_of(
      greetings_, [&](const Greeting& each) { return each.listener == listener.number(); });
  if (is_greeted || arrivals_.has_of(listener.number())) return;
  const Settings& settings = state_->settings();
  arrivals_.take(listener, *control_, state_->links,
                 settings.clock.now_ns() + settings.connect_timeout_ns());
}

void UcxEndpoint::answer_arrivals() {
  for (Arrivals::Introduced& arrival : arrivals_.introduced()) {
    const ControlMessage introduction = from_frame(arrival.link->take_frame());
    if (introduction.kind != ControlKind::introduction ||
        introduction.blob.size() > kMaxHelloBytes) {
      arrivals_.refuse(arrival.link->peer_name(), "it does not introduce itself");
      continue;
    }
    auto accepted = UcxConnection::accept(*state_, std::move(arrival.link), introduction);
    if (accepted.ok())
      greetings_.push_back({arrival.listener, std::move(accepted).value()});
    else
      THINWIRE_WARN(state_->settings().log, "%s", accepted.status().text());
  }
}

Result<std::unique_ptr<Connection>> UcxEndpoint::try_accept(Listener& listener) {
  auto* ours = dynamic_cast<ControlListener*>(&listener);
  if (ours == nullptr || ours->transport_number() != kMark.number)
    return Status(Code::invalid_argument, "not a listener of this transport");
  take_arrival(*ours);
  if (arrivals_.empty() && greetings_.empty()) return Status::would_block();
  setting_up_.store(true);
  answer_arrivals();
  advance(state_->settings().clock.now_ns());
  std::erase_if(greetings_, [](const Greeting& each) { return each.connection->state().failed(); });
  for (auto at = greetings_.begin(); at != greetings_.end(); ++at) {
    if (at->listener != ours->number() || !at->connection->state().ok()) continue;
    std::unique_ptr<Connection> connection = std::move(at->connection);
    greetings_.erase(at);
    return connection;
  }
  return Status::would_block();
}

bool UcxEndpoint::is_setting_up() const {
  return !arrivals_.empty() || state_->listeners > 0 ||
         std::ranges::any_of(state_->connections, &UcxConnection::is_introducing);
}

void UcxEndpoint::look_at_control(std::int64_t now_ns) {
  next_control_ns_ = now_ns + kControlEveryNs;
  departed_.progress();
  state_->links.poll();
  arrivals_.progress(now_ns);
  for (UcxConnection* connection : state_->connections) connection->progress_control(now_ns);
  setting_up_.store(is_setting_up());
}

bool UcxEndpoint::advance(std::int64_t now_ns) {
  bool busy = state_->progress_workers();
  if (std::exchange(state_->control_is_urgent, false)) urgent_until_ns_ = now_ns + kUrgentNs;
  const bool urgent = now_ns < urgent_until_ns_;
  if (urgent || setting_up_.load() || now_ns >= next_control_ns_) look_at_control(now_ns);
  for (UcxConnection* connection : state_->connections) busy |= connection->progress(now_ns);
  // What was told just now goes out even if nobody polls again.
  if (state_->control_is_urgent) state_->links.poll();
  if (state_->departing.empty()) return busy || urgent;
  state_->progress_departing(now_ns);
  return true;
}

std::size_t UcxEndpoint::poll(std::span<Completion> out) {
  state_->events.begin_poll();
  const bool busy = advance(state_->settings().clock.now_ns());
  const std::size_t count = state_->finished.drain(out);
  arm_if_wanted(!busy && state_->finished.empty() && count == 0);
  return count;
}

// Whoever waits meanwhile either sleeps on what was armed here, or is sent round again.
void UcxEndpoint::arm_if_wanted(bool idle) {
  if (idle && state_->events.wants_arming()) {
    const bool armed = std::ranges::all_of(state_->workers, &Worker::arm);
    if (armed) return state_->events.set_armed();
  }
  state_->events.interrupt();
}

// While connections are made, what matters comes over the control connections; afterwards they
// only tell of errors and deaths, which may take kLongestWaitUs.
void UcxEndpoint::wait(std::int64_t timeout_us) {
  if (setting_up_.load())
    control_->wait(std::min(timeout_us, kSettingUpWaitUs));
  else
    state_->events.wait(std::min(timeout_us, kLongestWaitUs));
}

Counters UcxEndpoint::counters() const {
  Counters counters = state_->past;
  for (const UcxConnection* connection : state_->connections) connection->add_to(counters);
  const Counters control = control_->counters();
  counters.strangers_refused += control.strangers_refused + arrivals_.refused();
  return counters;
}

}  // namespace thinwire::transports::ucx
