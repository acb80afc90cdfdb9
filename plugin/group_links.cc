#include "plugin/group_links.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "plugin/net.h"

namespace thinwire::plugin {

namespace {

constexpr std::int64_t kWaitUs = 20'000;
constexpr const char* kNoAnswer = "no answer in time";

// Who is calling: sent when dialling.
struct Hello {
  std::uint32_t magic = 0x54574752;  // "TWGR"
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
};

std::string unreachable(int peer, const Status& status) {
  return "rank " + std::to_string(peer) + " (" + status.text() + ")";
}

}  // namespace

GroupLinks::GroupLinks(transports::Endpoint& endpoint, transports::Listener& listener,
                       std::vector<transports::Handle> handles, int rank, const Clock& clock,
                       const Log& log)
    : endpoint_(endpoint),
      listener_(listener),
      handles_(std::move(handles)),
      rank_(rank),
      clock_(clock),
      log_(log),
      links_(handles_.size()) {}

std::string GroupLinks::dial(int peer) {
  Hello hello;
  hello.rank = static_cast<std::uint32_t>(rank_);
  hello.ranks = static_cast<std::uint32_t>(ranks());
  auto connection = endpoint_.connect(handles_[static_cast<std::size_t>(peer)],
                                      std::as_bytes(std::span(&hello, 1)));
  if (!connection.ok()) return unreachable(peer, connection.status());
  links_[static_cast<std::size_t>(peer)] = std::move(connection).value();
  return "";
}

// Peers may dial long before we ask for them, so whoever arrives gets its place.
void GroupLinks::accept_arrivals() {
  while (true) {
    auto arrival = endpoint_.try_accept(listener_);
    if (!arrival.ok()) return;
    if (!admit(std::move(arrival).value())) {
      THINWIRE_WARN(log_, "a connection with our token but not of this group was dropped");
    }
  }
}

bool GroupLinks::admit(std::unique_ptr<transports::Connection> connection) {
  Hello hello;
  const auto bytes = connection->hello();
  if (bytes.size() != sizeof hello) return false;
  std::memcpy(&hello, bytes.data(), sizeof hello);
  if (hello.magic != Hello{}.magic || hello.ranks != handles_.size() || hello.rank >= hello.ranks ||
      hello.rank <= static_cast<std::uint32_t>(rank_)) {
    return false;
  }
  auto& link = links_[hello.rank];
  if (link != nullptr) return false;
  link = std::move(connection);
  return true;
}

std::string GroupLinks::check(int peer, bool* ready) const {
  const auto& link = links_[static_cast<std::size_t>(peer)];
  const Status state = link == nullptr ? Status::would_block() : link->state();
  if (state.failed()) return unreachable(peer, state);
  if (!state.ok()) *ready = false;
  return "";
}

std::string GroupLinks::establish(std::span<const int> peers, std::int64_t deadline_ns) {
  std::string failures;
  for (const int peer : peers) {
    if (peer < rank_ && !linked(peer)) failures += dial(peer);
  }
  while (failures.empty()) {
    endpoint_.poll({});
    accept_arrivals();
    bool ready = true;
    for (const int peer : peers) failures += check(peer, &ready);
    if (ready || !failures.empty()) return failures;
    if (clock_.now_ns() >= deadline_ns) break;
    endpoint_.wait(kWaitUs);
  }
  if (!failures.empty()) return failures;
  for (const int peer : peers) {
    bool ready = true;
    (void)check(peer, &ready);
    if (ready) continue;
    if (!failures.empty()) failures += ", ";
    failures += "rank " + std::to_string(peer) + " (no connection in time)";
  }
  return failures;
}

void GroupLinks::replace(int peer, std::unique_ptr<transports::Connection> link) {
  auto& place = links_[static_cast<std::size_t>(peer)];
  replaced_.push_back(std::exchange(place, std::move(link)));
}

Status GroupLinks::wait_for(std::uint64_t cookie, std::int64_t deadline_ns, std::size_t* bytes) {
  while (true) {
    std::array<transports::Completion, 4> completions;
    const std::size_t count = endpoint_.poll(completions);
    for (const auto& completion : std::span(completions).first(count)) {
      if (completion.cookie != cookie) continue;
      if (bytes != nullptr) *bytes = completion.bytes[0];
      return completion.status;
    }
    if (clock_.now_ns() >= deadline_ns) return {Code::peer_lost, kNoAnswer};
    endpoint_.wait(kWaitUs);
  }
}

Status GroupLinks::send(int peer, std::uint64_t tag, const std::string& message,
                        std::int64_t deadline_ns) {
  buffers_.push_back(std::make_unique<std::string>(message));
  const std::uint64_t cookie = next_cookie_++;
  auto& link = *links_[static_cast<std::size_t>(peer)];
  Status posted = link.post_send(buffers_.back()->data(), message.size(), tag, {}, cookie);
  while (posted.is_would_block() && clock_.now_ns() < deadline_ns) {
    endpoint_.poll({});
    posted = link.post_send(buffers_.back()->data(), message.size(), tag, {}, cookie);
  }
  if (posted.is_would_block()) return {Code::peer_lost, kNoAnswer};
  if (!posted.ok()) return posted;
  return wait_for(cookie, deadline_ns, nullptr);
}

Result<std::string> GroupLinks::receive(int peer, std::uint64_t tag, std::int64_t deadline_ns) {
  buffers_.push_back(std::make_unique<std::string>(kMaxMessageBytes, '\0'));
  std::string& buffer = *buffers_.back();
  const transports::ReceiveBuffer into{buffer.data(), buffer.size(), tag, {}};
  const std::uint64_t cookie = next_cookie_++;
  const Status posted =
      links_[static_cast<std::size_t>(peer)]->post_receive(std::span(&into, 1), cookie);
  if (!posted.ok()) return posted;
  std::size_t bytes = 0;
  if (const Status received = wait_for(cookie, deadline_ns, &bytes); !received.ok()) {
    return received;
  }
  return buffer.substr(0, bytes);
}

}  // namespace thinwire::plugin
