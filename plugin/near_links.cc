#include "plugin/near_links.h"

#include <algorithm>
#include <cstring>

namespace thinwire::plugin {

namespace {

constexpr std::int64_t kWaitUs = 2'000;
// All ranks begin within moments of one another: they have just agreed on something.
constexpr std::int64_t kLongestSetUpNs = 20'000'000'000;
// Of the messages over the network's links; agreement.cc has others.
constexpr std::uint64_t kCardTag = 0x4E450001;
constexpr std::uint64_t kOutcomeTag = 0x4E450002;

// What both sides have to know before either tries: then neither waits for the other in vain.
struct Card {
  std::uint64_t reach = 0;
  std::uint64_t listens = 0;
  transports::Handle handle;
};

struct Hello {
  std::uint32_t magic = 0x454E5754;  // "TWNE" in memory
  std::uint32_t rank = 0;
};

}  // namespace

NearLinks::NearLinks(GroupLinks& links, transports::Endpoint* near, std::uint64_t reach,
                     std::span<const int> peers, const Clock& clock, const Log& log)
    : links_(links), endpoint_(near), reach_(reach), clock_(clock), log_(log) {
  for (const int peer : peers) nears_.push_back({peer, nullptr, ""});
}

std::string NearLinks::establish(std::int64_t deadline_ns) {
  Status status = exchange_cards(deadline_ns);
  if (status.ok()) {
    // The outcomes need some of the time.
    const std::int64_t now_ns = clock_.now_ns();
    connect_all(now_ns + std::min((deadline_ns - now_ns) / 2, kLongestSetUpNs));
    status = agree(deadline_ns);
  }
  if (status.ok()) return "";
  return "rank " + std::to_string(failed_peer_) + " (" + status.text() + ")";
}

Status NearLinks::exchange_cards(std::int64_t deadline_ns) {
  Card mine;
  mine.reach = reach_;
  if (endpoint_ != nullptr) {
    if (auto listening = endpoint_->listen(); listening.ok()) {
      listener_ = std::move(listening).value();
      mine.listens = 1;
      mine.handle = listener_->handle();
    }
  }
  const std::string message(reinterpret_cast<const char*>(&mine), sizeof mine);
  for (const Near& near : nears_) {
    failed_peer_ = near.peer;
    const Status sent = links_.send(near.peer, kCardTag, message, deadline_ns);
    if (!sent.ok()) return sent;
  }
  for (Near& near : nears_) {
    failed_peer_ = near.peer;
    const auto received = links_.receive(near.peer, kCardTag, deadline_ns);
    if (!received.ok()) return received.status();
    read_card(near, received.value());
  }
  return {};
}

// The lower rank listens, the higher one dials.
void NearLinks::read_card(Near& near, const std::string& message) {
  Card theirs;
  if (message.size() != sizeof theirs) {
    near.failure = "its message is malformed";
    return;
  }
  std::memcpy(&theirs, message.data(), sizeof theirs);
  if (listener_ == nullptr)
    near.failure = "none here";
  else if (theirs.listens == 0)
    near.failure = "none there";
  else if (reach_ == 0 || theirs.reach != reach_)
    near.failure = "it runs under another kernel or in another network namespace";
  else if (near.peer < links_.rank())
    dial(near, theirs.handle);
}

void NearLinks::dial(Near& near, const transports::Handle& handle) {
  Hello hello;
  hello.rank = static_cast<std::uint32_t>(links_.rank());
  auto connection = endpoint_->connect(handle, std::as_bytes(std::span(&hello, 1)));
  if (connection.ok())
    near.connection = std::move(connection).value();
  else
    near.failure = connection.status().text();
}

void NearLinks::accept_arrivals() {
  while (listener_ != nullptr) {
    auto arrival = endpoint_->try_accept(*listener_);
    if (!arrival.ok()) return;
    Hello hello;
    const auto bytes = arrival.value()->hello();
    if (bytes.size() != sizeof hello) continue;
    std::memcpy(&hello, bytes.data(), sizeof hello);
    const auto near = std::ranges::find_if(nears_, [&](const Near& each) {
      return hello.magic == Hello{}.magic && static_cast<std::uint32_t>(each.peer) == hello.rank &&
             each.peer > links_.rank() && each.connection == nullptr;
    });
    if (near != nears_.end()) near->connection = std::move(arrival).value();
  }
}

bool NearLinks::is_settled(Near& near) const {
  if (!near.failure.empty()) return true;
  if (near.connection == nullptr) return false;
  const Status state = near.connection->state();
  if (state.failed()) near.failure = state.text();
  return !state.is_would_block();
}

void NearLinks::connect_all(std::int64_t deadline_ns) {
  while (endpoint_ != nullptr && clock_.now_ns() < deadline_ns) {
    endpoint_->poll({});
    accept_arrivals();
    if (std::ranges::all_of(nears_, [&](Near& near) { return is_settled(near); })) break;
    endpoint_->wait(kWaitUs);
  }
  for (Near& near : nears_) {
    const bool there = near.connection != nullptr && near.connection->state().ok();
    if (!there && near.failure.empty()) near.failure = "no connection in time";
  }
}

// A dialler that fails at once tells so here, but whoever waits for it to call has let its time
// pass: those cases are rare, and bounded.
Status NearLinks::agree(std::int64_t deadline_ns) {
  for (const Near& near : nears_) {
    failed_peer_ = near.peer;
    const Status sent = links_.send(near.peer, kOutcomeTag, near.failure, deadline_ns);
    if (!sent.ok()) return sent;
  }
  std::string kept;
  for (Near& near : nears_) {
    failed_peer_ = near.peer;
    const auto theirs = links_.receive(near.peer, kOutcomeTag, deadline_ns);
    if (!theirs.ok()) return theirs.status();
    if (near.failure.empty()) near.failure = theirs.value();
    if (near.failure.empty()) {
      links_.replace(near.peer, std::move(near.connection));
    } else {
      kept += " rank " + std::to_string(near.peer) + " (" + near.failure + ")";
    }
  }
  if (!kept.empty()) {
    THINWIRE_WARN(log_, "no shared memory with ranks of this host, so over the network:%s",
                  kept.c_str());
  }
  return {};
}

}  // namespace thinwire::plugin
