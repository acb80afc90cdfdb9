#include "perf/session.h"

#include <poll.h>

#include <cstring>
#include <memory>

namespace thinwire::perf {
namespace {

std::string hello_text(const SessionPlan& plan) {
  return std::to_string(plan.rank) + "/" + std::to_string(plan.ranks);
}

struct Hello {
  int rank = 0;
  int ranks = 0;
};

// Nothing for what is no hello of any run.
std::optional<Hello> parse_hello(const Frame& frame) {
  if (frame.kind != FrameKind::hello) return std::nullopt;
  const std::size_t slash = frame.text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const Hello hello{std::atoi(frame.text.c_str()), std::atoi(frame.text.c_str() + slash + 1)};
  if (hello.rank < 1 || hello.rank >= hello.ranks) return std::nullopt;
  return hello;
}

std::string missing_ranks(const std::vector<Socket>& peers) {
  std::string missing;
  for (std::size_t rank = 1; rank < peers.size(); ++rank) {
    if (!peers[rank].open()) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
  }
  return missing;
}

struct Newcomer {
  Socket socket;
  FrameReader reader;
};

}  // namespace

Session::Session(const SessionPlan& plan) : plan_(plan) {
  local_host_ = plan.rendezvous.host;
  if (plan_.ranks == 1) {
    if (plan_.listener_fd >= 0) Socket unused(plan_.listener_fd);
    return;
  }
  peers_.resize(is_root() ? static_cast<std::size_t>(plan_.ranks) : 1);
  const double limit = plan_.timeout_s > 0 ? plan_.timeout_s : 3600;
  const Deadline joined = Deadline::after_seconds(limit);
  if (is_root()) {
    join_as_root(plan_.listener_fd >= 0 ? Socket(plan_.listener_fd) : listen_on(plan_.rendezvous),
                 joined);
  } else {
    join_as_leaf(joined);
  }
  barrier();
}

Session::~Session() = default;

Deadline Session::deadline() const {
  return plan_.timeout_s > 0 ? Deadline::after_seconds(plan_.timeout_s) : Deadline::never();
}

void Session::join_as_root(Socket listener, Deadline deadline) {
  std::vector<Newcomer> newcomers;
  for (int joined = 1; joined < plan_.ranks;) {
    if (deadline.passed()) {
      fail("still missing after the time-out: ranks " + missing_ranks(peers_) + turned_away_);
    }
    std::vector<pollfd> waits{{listener.fd(), POLLIN, 0}};
    for (const Newcomer& newcomer : newcomers) waits.push_back({newcomer.socket.fd(), POLLIN, 0});
    poll(waits.data(), waits.size(), deadline.poll_ms(1000));
    for (Socket socket = try_accept(listener); socket.open(); socket = try_accept(listener)) {
      newcomers.push_back({std::move(socket), {}});
    }
    for (std::size_t i = 0; i < newcomers.size();) {
      const auto state = newcomers[i].reader.poll(newcomers[i].socket);
      if (state == FrameReader::State::partial) {
        ++i;
        continue;
      }
      const bool complete = state == FrameReader::State::complete;
      if (complete && admit(std::move(newcomers[i].socket), newcomers[i].reader.frame())) ++joined;
      newcomers.erase(newcomers.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

bool Session::admit(Socket socket, const Frame& frame) {
  const std::optional<Hello> hello = parse_hello(frame);
  if (!hello) return false;
  const std::string who =
      "rank " + std::to_string(hello->rank) + " of " + std::to_string(hello->ranks);
  std::string problem;
  if (hello->ranks != plan_.ranks) {
    problem = "rank 0 is of a run of " + std::to_string(plan_.ranks) + ", this is " + who +
              ": -g and the launcher's variables must agree";
  } else if (peers_[static_cast<std::size_t>(hello->rank)].open()) {
    problem = who + " has already joined: two processes have the same rank";
  }
  if (!problem.empty()) {
    turned_away_ = "; turned away: " + who;
    (void)send_frame(socket, FrameKind::failure, problem, Deadline::after_seconds(1));
    return false;
  }
  set_no_delay(socket);
  local_host_ = bound_to(socket).host;
  peers_[static_cast<std::size_t>(hello->rank)] = std::move(socket);
  return true;
}

void Session::join_as_leaf(Deadline deadline) {
  peers_[0] = connect_to(plan_.rendezvous, deadline);
  set_no_delay(peers_[0]);
  local_host_ = bound_to(peers_[0]).host;
  if (!send_frame(peers_[0], FrameKind::hello, hello_text(plan_), deadline)) {
    fail("rank 0 closed the connection");
  }
}

void Session::fail(const std::string& reason) {
  lost_ = reason;
  announce_failure(reason);
  throw Failure(ExitCode::runtime_error, reason);
}

void Session::announce_failure(const std::string& reason) noexcept {
  const Deadline soon = Deadline::after_seconds(1);
  for (const Socket& peer : peers_) {
    if (peer.open()) (void)send_frame(peer, FrameKind::failure, reason, soon);
  }
}

std::vector<std::string> Session::gather_at_root(std::string_view mine, Deadline deadline) {
  std::vector<std::string> texts(static_cast<std::size_t>(plan_.ranks));
  texts[0] = mine;
  std::vector<FrameReader> readers(texts.size());
  std::vector<bool> done(texts.size(), false);
  for (std::size_t left = texts.size() - 1; left > 0;) {
    std::vector<pollfd> waits;
    for (std::size_t rank = 1; rank < texts.size(); ++rank) {
      if (done[rank]) continue;
      const std::string who = "rank " + std::to_string(rank);
      const auto state = readers[rank].poll(peers_[rank]);
      if (state == FrameReader::State::ended) fail(who + " is gone: it died or was killed");
      if (state == FrameReader::State::partial) {
        waits.push_back({peers_[rank].fd(), POLLIN, 0});
        if (deadline.passed()) fail(who + " made no progress within the time-out");
        continue;
      }
      Frame& frame = readers[rank].frame();
      if (frame.kind == FrameKind::failure) fail(who + " failed: " + frame.text);
      texts[rank] = std::move(frame.text);
      done[rank] = true;
      --left;
    }
    // A peer that has already answered may still die while the others are waited for.
    for (std::size_t rank = 1; rank < texts.size(); ++rank) {
      if (done[rank]) waits.push_back({peers_[rank].fd(), POLLRDHUP, 0});
    }
    if (left > 0) poll(waits.data(), waits.size(), deadline.poll_ms(1000));
    if (left > 0 && lost_peer()) fail(*lost_);
  }
  return texts;
}

std::vector<std::string> Session::all_gather(std::string_view mine) {
  if (plan_.ranks == 1) return {std::string(mine)};
  if (lost_) throw Failure(ExitCode::runtime_error, *lost_);
  const Deadline limit = deadline();
  if (is_root()) {
    std::vector<std::string> texts = gather_at_root(mine, limit);
    const std::string packed = pack(texts.data(), texts.size());
    for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
      if (!send_frame(peers_[rank], FrameKind::data, packed, limit)) {
        fail("rank " + std::to_string(rank) + " is gone: it died or was killed");
      }
    }
    return texts;
  }
  const bool sent = send_frame(peers_[0], FrameKind::data, mine, limit);
  auto reply = receive_frame(peers_[0], limit);
  if (!reply || !sent) {
    if (reply && reply->kind == FrameKind::failure) fail(reply->text);
    fail(limit.passed() ? "rank 0 made no progress within the time-out"
                        : "rank 0 is gone: it died or was killed");
  }
  if (reply->kind == FrameKind::failure) fail(reply->text);
  std::vector<std::string> texts;
  std::string_view packed = reply->text;
  while (auto text = unpack_next(packed)) texts.push_back(std::move(*text));
  if (texts.size() != static_cast<std::size_t>(plan_.ranks)) fail("rank 0 sent a broken answer");
  return texts;
}

std::vector<double> Session::all_gather(double mine) {
  std::vector<double> values;
  for (const std::string& text : all_gather({reinterpret_cast<const char*>(&mine), sizeof mine})) {
    double value = 0;
    std::memcpy(&value, text.data(), std::min(sizeof value, text.size()));
    values.push_back(value);
  }
  return values;
}

std::optional<std::string> Session::lost_peer() {
  if (lost_ || peers_.empty()) return lost_;
  if (!is_root()) {
    // Outside a collective call rank 0 has nothing to say but that a rank is lost.
    pollfd wait{peers_[0].fd(), POLLIN | POLLRDHUP, 0};
    if (poll(&wait, 1, 0) <= 0) return std::nullopt;
    const auto frame = receive_frame(peers_[0], Deadline::after_seconds(1));
    lost_ = frame ? frame->text : "rank 0 is gone: it died or was killed";
    return lost_;
  }
  std::vector<pollfd> waits;
  for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
    waits.push_back({peers_[rank].fd(), POLLRDHUP, 0});
  }
  if (poll(waits.data(), waits.size(), 0) <= 0) return std::nullopt;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].revents == 0) continue;
    const auto frame = receive_frame(peers_[i + 1], Deadline::after_seconds(1));
    const bool told = frame && frame->kind == FrameKind::failure;
    lost_ = "rank " + std::to_string(i + 1) +
            (told ? " failed: " + frame->text : " is gone: it died or was killed");
    announce_failure(*lost_);
    return lost_;
  }
  return std::nullopt;
}

void Session::settle(const std::optional<Failure>& mine) {
  std::string text;
  if (mine)
    text = static_cast<char>('0' + static_cast<int>(mine->code())) + std::string(mine->what());
  const std::vector<std::string> all = all_gather(text);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    const auto code = static_cast<ExitCode>(all[rank][0] - '0');
    const bool own = static_cast<int>(rank) == plan_.rank;
    throw Failure(code, own ? mine->what() : all[rank].substr(1)).set_quiet(!own);
  }
}

}  // namespace thinwire::perf
