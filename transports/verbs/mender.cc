#include "transports/verbs/mender.h"

#include <algorithm>
#include <utility>

namespace thinwire::transports::verbs {

namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;
// A device that did not give everything back by then is not waited for any longer.
constexpr std::int64_t kForceNs = 2'000 * kMillisecondNs;
// Between two tries to open a queue pair that the device refuses.
constexpr std::int64_t kRefusedNs = 100 * kMillisecondNs;
constexpr std::int64_t kShortestTryNs = 200 * kMillisecondNs;

template <class T>
std::optional<T> take_first(std::vector<T>& items) {
  if (items.empty()) return std::nullopt;
  T first = std::move(items.front());
  items.erase(items.begin());
  return first;
}

std::string text_of(const Status& status) {
  return std::string(status.text()) + " (error " + std::to_string(status.native()) + ")";
}

ControlMessage message_about(ControlKind kind, std::size_t path, std::uint16_t epoch) {
  ControlMessage message;
  message.kind = kind;
  message.path = static_cast<std::uint16_t>(path);
  message.epoch = epoch;
  return message;
}

}  // namespace

Mender::Mender(const Contexts& contexts, std::span<const std::unique_ptr<Path>> paths, Pairs& pairs,
               bool leads, std::int64_t patience_ns)
    : contexts_(contexts),
      paths_(paths),
      pairs_(pairs),
      leads_(leads),
      patience_ns_(patience_ns),
      states_(paths.size()) {}

std::optional<PathFailure> Mender::take_failure() { return take_first(failures_); }
std::optional<PathRecovery> Mender::take_recovery() { return take_first(recoveries_); }

bool Mender::is_mending() const {
  return !std::ranges::all_of(paths_, [](const auto& path) { return path->is_live(); });
}

bool Mender::is_healing() const {
  return !std::ranges::all_of(states_, [](const State& state) { return state.since_ns == 0; });
}

bool Mender::is_hopeless(std::int64_t now_ns) const {
  return std::ranges::any_of(states_, [&](const State& state) {
    return state.since_ns != 0 && now_ns - state.since_ns > patience_ns_;
  });
}

void Mender::fail(std::size_t path, Stop why, const std::string& words) {
  State& state = states_[path];
  if (std::exchange(state.noted, true)) return;
  Path& its = *paths_[path];
  its.stop();
  state.moving = why == Stop::move;
  failures_.push_back(
      {static_cast<std::uint16_t>(path), its.epoch(), why, its.name() + ": " + words});
}

void Mender::ports_changed() { pairs_.set_here(ports_up(contexts_)); }

void Mender::take_peer_ports(std::uint16_t ports) { pairs_.set_there(ports); }

void Mender::look_at_stopped(std::size_t path, std::int64_t now_ns) {
  State& state = states_[path];
  const Status& refusal = paths_[path]->refusal();
  if (refusal.failed() && !state.noted) {
    fail(path, Stop::failure, text_of(refusal));
  }
  if (state.since_ns == 0) state.since_ns = now_ns;
  if (state.stopped_ns == 0) state.stopped_ns = now_ns;
}

void Mender::look_at_live(std::size_t path, std::int64_t now_ns) {
  State& state = states_[path];
  const Path& its = *paths_[path];
  if (!contexts_[its.pair().here]->is_up()) return fail(path, Stop::port_down, "the port is down");
  if (its.is_proven()) {
    if (state.since_ns == 0) return;
    pairs_.proven(its.pair());
    recoveries_.push_back({its.name(), now_ns - state.since_ns, state.moving});
    state.since_ns = 0;
    state.moving = false;
    return;
  }
  // The device may try for long what another pair does at once.
  const std::int64_t try_ns =
      std::max(kShortestTryNs, patience_ns_ / static_cast<std::int64_t>(2 * pairs_.size()));
  if (leads_ && pairs_.size() > 1 && now_ns - state.opened_ns > try_ns) {
    fail(path, Stop::failure, "no answer");
  }
}

void Mender::look(std::int64_t now_ns) {
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i]->is_stopped())
      look_at_stopped(i, now_ns);
    else if (paths_[i]->is_live())
      look_at_live(i, now_ns);
  }
  for (const PathFailure& failure : failures_) {
    if (failure.why == Stop::failure) pairs_.failed(paths_[failure.path]->pair(), now_ns);
  }
  if (leads_ && pairs_.size() > 1 && !is_healing()) send_home(now_ns);
}

// One at a time, those for data first. Where a port did not say that it is up again, only a path
// that has nothing to lose.
void Mender::send_home(std::int64_t now_ns) {
  for (std::size_t i = paths_.size(); i-- > 0;) {
    const Pair home = pairs_.home(i);
    const Path& path = *paths_[i];
    if (path.pair().number == home.number || !pairs_.may_retry(home, now_ns)) continue;
    if (pairs_.is_suspect(home) && path.bytes_under_way() > 0) continue;
    return fail(i, Stop::move, "goes back to where it belongs");
  }
}

bool Mender::may_reopen(std::size_t path, std::int64_t now_ns) {
  State& state = states_[path];
  if (!paths_[path]->is_stopped() || state.stopped_ns == 0 || now_ns < state.not_before_ns) {
    return false;
  }
  // The connecting side says where, and waits until the other has followed.
  if (leads_ ? state.reopened : !state.peer) return false;
  return paths_[path]->drain() || now_ns - state.stopped_ns > kForceNs;
}

std::optional<ControlMessage> Mender::take_message(std::int64_t now_ns) {
  if (auto first = take_first(messages_)) return first;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (!may_reopen(i, now_ns)) continue;
    if (auto resume = reopen(i, now_ns)) return resume;
  }
  return std::nullopt;
}

std::optional<Pair> Mender::pair_for(std::size_t path) const {
  const State& state = states_[path];
  if (!leads_) return pairs_.at(state.peer->pair);
  const Pair home = pairs_.home(path);
  return state.moving && pairs_.is_up(home) ? home : pairs_.choose(path);
}

// Null: not now.
std::optional<ControlMessage> Mender::reopen(std::size_t path, std::int64_t now_ns) {
  State& state = states_[path];
  Path& its = *paths_[path];
  const auto pair = pair_for(path);
  if (!pair) return std::nullopt;
  ControlMessage resume = message_about(ControlKind::resume, path, its.epoch());
  resume.pair = pair->number;
  resume.received = its.received();
  // What of the old queue pair was delivered is counted on until the peer says how much it was.
  state.delivered = its.delivered();
  const Status opened = its.open(*pair);
  if (!opened.ok()) {
    pairs_.failed(*pair, now_ns);
    failures_.push_back({resume.path, its.epoch(), Stop::failure,
                         its.name() + ": cannot be opened: " + text_of(opened)});
    state.not_before_ns = now_ns + kRefusedNs;
    if (leads_) return std::nullopt;
    its.skip_epoch();
  } else {
    state.opened_ns = now_ns;
  }
  state.reopened = true;
  state.noted = false;
  state.stopped_ns = 0;
  if (!leads_) {
    // What the peer said was checked when it came, but for the count.
    if (const Status finished = finish(path, now_ns); !finished.ok()) failure_ = finished;
  }
  if (opened.ok()) resume.addresses.push_back(its.address());
  return resume;
}

Status Mender::take_broken(const ControlMessage& broken, std::int64_t now_ns) {
  if (broken.path >= paths_.size()) return {Code::peer_lost, "the peer has another path"};
  Path& path = *paths_[broken.path];
  if (path.epoch() != broken.epoch || path.is_stopped()) return {};
  if (broken.code == static_cast<std::uint64_t>(Stop::failure)) pairs_.failed(path.pair(), now_ns);
  path.stop();
  states_[broken.path].noted = true;
  states_[broken.path].moving = broken.code == static_cast<std::uint64_t>(Stop::move);
  return {};
}

Status Mender::take_resume(const ControlMessage& resume, std::int64_t now_ns) {
  const bool fits =
      resume.path < paths_.size() && resume.addresses.size() <= 1 && resume.pair < pairs_.size();
  if (!fits) return {Code::peer_lost, "the peer resumes a path that there is not"};
  Path& path = *paths_[resume.path];
  State& state = states_[resume.path];
  const int expected = leads_ ? resume.epoch + 1 : resume.epoch;
  if (path.epoch() != static_cast<std::uint16_t>(expected) || state.reopened != leads_ ||
      (!leads_ && resume.addresses.empty())) {
    return {Code::peer_lost, "the peer resumes a path out of turn"};
  }
  if (!leads_) {
    path.stop();
    state.noted = true;
  }
  state.peer = resume;
  return leads_ ? finish(resume.path, now_ns) : Status();
}

// Both ends are open: what the peer has counts as sent, the rest goes over the new queue pair.
Status Mender::finish(std::size_t path, std::int64_t now_ns) {
  State& state = states_[path];
  Path& its = *paths_[path];
  const ControlMessage peer = std::move(*std::exchange(state.peer, std::nullopt));
  state.reopened = false;
  if (!its.resume_after(peer.received - state.delivered)) {
    return {Code::peer_lost, "the peer received what was not sent"};
  }
  if (its.is_stopped()) return {};
  if (peer.addresses.empty()) {
    fail(path, Stop::failure, "the peer cannot open it");
    return {};
  }
  const Status connected = its.connect(peer.addresses[0]);
  if (!connected.ok()) {
    fail(path, Stop::failure, text_of(connected));
  } else if (leads_) {
    state.opened_ns = now_ns;
    messages_.push_back(message_about(ControlKind::resumed, path, its.epoch()));
    its.start();
  }
  return {};
}

Status Mender::take_resumed(const ControlMessage& resumed) {
  if (resumed.path >= paths_.size()) return {Code::peer_lost, "the peer has another path"};
  Path& path = *paths_[resumed.path];
  if (path.epoch() == resumed.epoch) path.start();
  return {};
}

}  // namespace thinwire::transports::verbs
