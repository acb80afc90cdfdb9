#include "transports/verbs/endpoint.h"

#include <algorithm>

namespace thinwire::transports::verbs {

namespace {
constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 40;
constexpr std::size_t kPreferredPieceBytes = 512 * 1024;
// Messages do not wait for the control connections: errors and peers' deaths do.
constexpr std::int64_t kControlEveryNs = 1'000'000;
// After something was told to a peer its answer is looked for at once.
constexpr std::int64_t kUrgentNs = 5'000'000;
constexpr std::int64_t kPortsEveryNs = 100'000'000;
constexpr std::int64_t kSettingUpWaitUs = 2'000;
constexpr std::int64_t kLongestWaitUs = 100'000;

std::span<const std::byte> control_hello() {
  return std::as_bytes(std::span<const std::uint64_t, 1>(&kControlHello, 1));
}
}  // namespace

VerbsEndpoint::VerbsEndpoint(Contexts contexts, std::unique_ptr<Endpoint> control)
    : control_(std::move(control)),
      state_(std::make_unique<EndpointState>(std::move(contexts), *control_)),
      arrivals_(kControlHello, kStranger, state_->settings().log),
      capabilities_{.max_message_bytes = kMaxMessageBytes,
                    .preferred_piece_bytes = kPreferredPieceBytes,
                    .cuda_memory = false} {
  is_valid_ = state_->events.is_valid();
  ports_ = ports_up(state_->contexts);
  for (const auto& each : state_->contexts) {
    is_valid_ = is_valid_ && state_->events.add(each->channel()->fd) &&
                state_->events.add(each->native()->async_fd);
  }
}

VerbsEndpoint::~VerbsEndpoint() {
  greetings_.clear();
  arrivals_.clear();
  state_->links.poll();
}

Result<std::unique_ptr<Listener>> VerbsEndpoint::listen() {
  auto control = control_->listen();
  if (!control.ok()) return control.status();
  setting_up_.store(true);
  state_->events.interrupt();
  return std::unique_ptr<Listener>(
      new ControlListener(kMark, std::move(control).value(), state_->listeners));
}

Result<std::unique_ptr<Connection>> VerbsEndpoint::connect(const Handle& handle,
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
  return std::unique_ptr<Connection>(new VerbsConnection(*state_, std::move(link), hello));
}

// One at a time: what this endpoint takes, no other endpoint can accept, and the next try_accept()
// on the listener may be another endpoint's.
void VerbsEndpoint::take_arrival(ControlListener& listener) {
  const bool is_greeted = std::ranges::any_of(
      greetings_, [&](const Greeting& each) { return each.listener == listener.number(); });
  if (is_greeted || arrivals_.has_of(listener.number())) return;
  const Settings& settings = state_->settings();
  arrivals_.take(listener, *control_, state_->links,
                 settings.clock.now_ns() + settings.connect_timeout_ns());
}

void VerbsEndpoint::answer_arrivals() {
  for (Arrivals::Introduced& arrival : arrivals_.introduced()) {
    const auto introduction = from_frame(arrival.link->take_frame());
    if (!introduction.ok() || introduction.value().kind != ControlKind::introduction ||
        introduction.value().blob.size() > kMaxHelloBytes) {
      arrivals_.refuse(arrival.link->peer_name(), "it does not introduce itself");
      continue;
    }
    auto accepted = VerbsConnection::accept(*state_, std::move(arrival.link), introduction.value());
    if (accepted.ok())
      greetings_.push_back({arrival.listener, std::move(accepted).value()});
    else
      THINWIRE_WARN(state_->settings().log, "%s (errno %d)", accepted.status().text(),
                    accepted.status().native());
  }
}

Result<std::unique_ptr<Connection>> VerbsEndpoint::try_accept(Listener& listener) {
  auto* ours = dynamic_cast<ControlListener*>(&listener);
  if (ours == nullptr || ours->transport_number() != kMark.number) {
    return Status(Code::invalid_argument, "not a listener of this transport");
  }
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

bool VerbsEndpoint::is_setting_up() const {
  return !arrivals_.empty() || state_->listeners > 0 ||
         std::ranges::any_of(state_->connections, &VerbsConnection::is_introducing);
}

void VerbsEndpoint::look_at_control(std::int64_t now_ns) {
  next_control_ns_ = now_ns + kControlEveryNs;
  state_->links.poll();
  look_at_ports(now_ns);
  arrivals_.progress(now_ns);
  for (VerbsConnection* connection : state_->connections) connection->progress_control(now_ns);
  setting_up_.store(is_setting_up());
}

// A port that is down is asked, too: what tells that it is up may have come before its address.
void VerbsEndpoint::look_at_ports(std::int64_t now_ns) {
  const bool ask = now_ns >= next_ports_ns_;
  if (ask) next_ports_ns_ = now_ns + kPortsEveryNs;
  for (const auto& context : state_->contexts) {
    context->take_events();
    if (ask && !context->is_up() && !context->is_dead()) context->look_at_port();
  }
  if (ports_up(state_->contexts) == ports_) return;
  ports_ = ports_up(state_->contexts);
  for (VerbsConnection* connection : state_->connections) connection->ports_changed();
}

bool VerbsEndpoint::advance(std::int64_t now_ns) {
  bool busy = false;
  for (VerbsConnection* connection : state_->connections) busy |= connection->progress(now_ns);
  if (std::exchange(state_->control_is_urgent, false)) urgent_until_ns_ = now_ns + kUrgentNs;
  const bool urgent = now_ns < urgent_until_ns_;
  if (urgent || setting_up_.load() || now_ns >= next_control_ns_) look_at_control(now_ns);
  // What was told just now goes out even if nobody polls again.
  if (state_->control_is_urgent) state_->links.poll();
  return busy || urgent;
}

std::size_t VerbsEndpoint::poll(std::span<Completion> out) {
  state_->events.begin_poll();
  if (std::exchange(was_armed_, false)) {
    for (const auto& context : state_->contexts) context->drain_channel();
  }
  const bool busy = advance(state_->settings().clock.now_ns());
  const std::size_t count = state_->finished.drain(out);
  arm_if_wanted(!busy && state_->finished.empty() && count == 0);
  return count;
}

// Whoever waits meanwhile either sleeps on what was armed here, or is sent round again. What
// completed before the arming raises no event: so the queues are looked at once more.
void VerbsEndpoint::arm_if_wanted(bool idle) {
  if (idle && state_->events.wants_arming()) {
    was_armed_ = true;
    const bool armed = std::ranges::all_of(state_->connections, &VerbsConnection::arm);
    bool busy = false;
    const std::int64_t now_ns = state_->settings().clock.now_ns();
    for (VerbsConnection* connection : state_->connections) busy |= connection->progress(now_ns);
    if (armed && !busy && state_->finished.empty()) return state_->events.set_armed();
  }
  state_->events.interrupt();
}

// While connections are made, what matters comes over the control connections; afterwards they
// only tell of errors and deaths, which may take kLongestWaitUs.
void VerbsEndpoint::wait(std::int64_t timeout_us) {
  if (setting_up_.load())
    control_->wait(std::min(timeout_us, kSettingUpWaitUs));
  else
    state_->events.wait(std::min(timeout_us, kLongestWaitUs));
}

Counters VerbsEndpoint::counters() const {
  Counters counters = state_->past;
  for (const VerbsConnection* connection : state_->connections) connection->add_to(counters);
  counters.strangers_refused += control_->counters().strangers_refused + arrivals_.refused();
  return counters;
}

}  // namespace thinwire::transports::verbs
