#include "transports/tcp/listener.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace thinwire::transports::tcp {

namespace {
constexpr std::size_t kMaxStrangers = 64;
constexpr std::int64_t kStrangerNs = 5'000'000'000;
}  // namespace

Result<std::unique_ptr<TcpListener>> TcpListener::open(EndpointState& state,
                                                       const SocketAddress& address) {
  const Settings& settings = state.settings;
  Result<UniqueFd> made = make_socket(address);
  if (!made.ok()) return made.status();
  UniqueFd fd = std::move(made).value();
  apply_socket_options(fd.get(), settings, address.is_loopback());
  sockaddr_storage native;
  const socklen_t length = address.to_native(native);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&native), length) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0) {
    const int error = errno;
    THINWIRE_WARN(settings.log, "cannot listen on %s: %s", address.text().c_str(),
                  std::strerror(error));
    return Status(Code::system_error, "cannot listen", error);
  }
  return std::unique_ptr<TcpListener>(new TcpListener(state, std::move(fd)));
}

TcpListener::TcpListener(EndpointState& state, UniqueFd fd)
    : state_(state),
      settings_(state.settings),
      fd_(std::move(fd)),
      watch_(state.events, fd_.get(), nullptr) {
  state_.listeners.push_back(this);
  info_.host_hash = settings_.host.hash;
  info_.host_name = settings_.host.name;
  info_.address = local_address(fd_.get());
  info_.token = random_token();
  handle_ = encode_handle(info_);
}

// Said explicitly, for a forked child may hold a copy of the descriptor.
TcpListener::~TcpListener() {
  std::erase(state_.listeners, this);
  ::shutdown(fd_.get(), SHUT_RDWR);
}

void TcpListener::progress() {
  const std::int64_t now_ns = settings_.clock.now_ns();
  accept_all(now_ns);
  for (auto at = strangers_.begin(); at != strangers_.end();) {
    at = keep_reading(*at, now_ns) ? std::next(at) : strangers_.erase(at);
  }
  std::erase_if(partial_, [&](const auto& item) { return now_ns >= item.second.deadline_ns; });
}

void TcpListener::accept_all(std::int64_t now_ns) {
  for (std::size_t i = 0; i < kMaxStrangers; ++i) {
    UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) warn_not_accepting(errno);
      return;
    }
    if (strangers_.size() == kMaxStrangers) {
      refuse(strangers_.front(), "too many that do not introduce themselves");
      strangers_.pop_front();
    }
    Stranger& stranger = strangers_.emplace_back();
    stranger.peer = remote_address(fd.get());
    stranger.watch = Watch(state_.events, fd.get(), nullptr);
    stranger.fd = std::move(fd);
    stranger.deadline_ns = now_ns + kStrangerNs;
  }
}

// It goes on trying: the process may give descriptors back.
void TcpListener::warn_not_accepting(int error) {
  if (std::exchange(logged_not_accepting_, true)) return;
  const bool too_many = error == EMFILE || error == ENFILE;
  THINWIRE_WARN(settings_.log, "%s: connections wait, they cannot be accepted: %s%s",
                info_.address.text().c_str(), std::strerror(error),
                too_many ? "; raise the limit (ulimit -n, sysctl fs.file-max)" : "");
}

bool TcpListener::keep_reading(Stranger& stranger, std::int64_t now_ns) {
  const ssize_t n = ::recv(stranger.fd.get(), stranger.bytes.data() + stranger.received,
                           kIntroductionBytes - stranger.received, MSG_DONTWAIT);
  if (n > 0) stranger.received += static_cast<std::size_t>(n);
  if (stranger.received >= kIntroductionPrefixBytes) {
    const auto prefix =
        introduction_prefix(std::span(stranger.bytes).first<kIntroductionPrefixBytes>());
    if (prefix == Prefix::foreign) return refuse(stranger, "no Thinwire");
    if (prefix == Prefix::other_version) {
      answer(stranger.fd.get(), Answer::wrong_version);
      return refuse(stranger, "another version of Thinwire");
    }
  }
  if (stranger.received == kIntroductionBytes) {
    const Result<Introduction> introduction = decode_introduction(stranger.bytes);
    if (!introduction.ok()) return refuse(stranger, "a damaged introduction");
    if (introduction.value().token != info_.token) {
      answer(stranger.fd.get(), Answer::wrong_token);
      return refuse(stranger, "a wrong token");
    }
    admit(stranger, introduction.value(), now_ns);
    return false;
  }
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
    return refuse(stranger, "it left without an introduction");
  }
  return now_ns < stranger.deadline_ns || refuse(stranger, "no introduction in time");
}

void TcpListener::admit(Stranger& stranger, const Introduction& introduction, std::int64_t now_ns) {
  Partial& partial = partial_[introduction.connection];
  Arrival& arrival = partial.arrival;
  if (arrival.sockets.empty()) {
    arrival.introduction = introduction;
    arrival.peer = stranger.peer;
    arrival.sockets.resize(introduction.stream_count);
    partial.deadline_ns = now_ns + settings_.connect_timeout_ns();
  }
  if (introduction.stream >= arrival.sockets.size()) {
    answer(stranger.fd.get(), Answer::refused);
    return;
  }
  answer(stranger.fd.get(), Answer::welcome);
  stranger.watch = {};
  arrival.sockets[introduction.stream] = std::move(stranger.fd);
  const bool all_there = std::ranges::all_of(
      arrival.sockets, [](const UniqueFd& fd) { return static_cast<bool>(fd); });
  if (!all_there) return;
  complete_.push_back(std::move(arrival));
  partial_.erase(introduction.connection);
}

bool TcpListener::refuse(Stranger& stranger, const char* why) {
  ++state_.past.strangers_refused;
  if (logged_stranger_) return false;
  logged_stranger_ = true;
  THINWIRE_INFO(settings_.log, "%s: refused a connection from %s: %s (said once per listener)",
                info_.address.text().c_str(), stranger.peer.text().c_str(), why);
  return false;
}

// Fits into the empty buffer of a new socket; a peer that cannot read it does not matter.
void TcpListener::answer(int fd, Answer what) const {
  std::array<std::byte, kReplyBytes> bytes;
  Reply reply;
  reply.answer = what;
  reply.window_bytes = settings_.window_bytes();
  encode_reply(reply, bytes);
  [[maybe_unused]] const ssize_t n =
      ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<Arrival> TcpListener::take() {
  if (complete_.empty()) return Status::would_block();
  Arrival arrival = std::move(complete_.front());
  complete_.pop_front();
  return arrival;
}

}  // namespace thinwire::transports::tcp
