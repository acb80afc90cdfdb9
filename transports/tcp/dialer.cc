#include "transports/tcp/dialer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace thinwire::transports::tcp {

namespace {
constexpr std::int64_t kFirstPauseNs = 2'000'000;
constexpr std::int64_t kLongestPauseNs = 500'000'000;
}  // namespace

Dialer::Dialer(const Settings& settings, EventSet& events, const Target& target,
               std::span<const std::byte> hello)
    : settings_(settings),
      events_(events),
      target_(target),
      attempts_(static_cast<std::size_t>(target.streams)),
      give_up_at_ns_(settings.clock.now_ns() + settings.connect_timeout_ns()) {
  introduction_.token = target.token;
  introduction_.connection = random_token();
  introduction_.stream_count = static_cast<std::uint8_t>(target.streams);
  introduction_.window_bytes = settings.window_bytes();
  introduction_.host_name = settings.host.name;
  introduction_.hello_bytes = static_cast<std::uint8_t>(hello.size());
  std::ranges::copy(hello, introduction_.hello.begin());
}

Status Dialer::progress() {
  const std::int64_t now_ns = settings_.clock.now_ns();
  bool all_welcome = true;
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (attempts_[i].welcome) continue;
    const Status status = progress_one(i, now_ns);
    if (status.failed()) {
      THINWIRE_WARN(settings_.log, "connecting to %s: %s (%d)", target_.address.text().c_str(),
                    status.text(), status.native());
      return status;
    }
    all_welcome = all_welcome && status.ok();
  }
  if (all_welcome) return {};
  if (now_ns < give_up_at_ns_) return Status::would_block();
  THINWIRE_WARN(settings_.log, "connecting to %s: no success in %lld s (last error: %s)",
                target_.address.text().c_str(),
                static_cast<long long>(settings_.config.connect_timeout_s),
                last_error_ == 0 ? "no answer" : std::strerror(last_error_));
  return {Code::peer_lost, "the peer could not be reached in time", last_error_};
}

// Any network failure before the answer is tried again: the peer's host may be starting, its
// listener's queue full, a route flapping. Only an answer ends it.
Status Dialer::progress_one(std::size_t index, std::int64_t now_ns) {
  Attempt& attempt = attempts_[index];
  if (!attempt.fd) {
    if (now_ns < attempt.retry_at_ns) return Status::would_block();
    const Status opened = open(attempt);
    if (opened.code() == Code::system_error) return opened;
    if (!opened.ok()) retry_later(attempt, now_ns, opened.native());
    return Status::would_block();
  }
  Status status = send_introduction(index);
  if (status.ok()) status = read_reply(attempt);
  if (status.code() == Code::system_error) {  // of this socket
    retry_later(attempt, now_ns, status.native());
    return Status::would_block();
  }
  return status;
}

Status Dialer::open(Attempt& attempt) {
  Result<UniqueFd> made = make_socket(target_.address);
  if (!made.ok()) return made.status();
  UniqueFd fd = std::move(made).value();
  apply_socket_options(fd.get(), settings_, target_.same_host);
  sockaddr_storage native;
  if (target_.source.family == target_.address.family) {
    set_option(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    const socklen_t length = target_.source.to_native(native);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&native), length) != 0) {
      return {Code::peer_lost, "cannot bind the source address", errno};
    }
  }
  const socklen_t length = target_.address.to_native(native);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&native), length) != 0 &&
      errno != EINPROGRESS) {
    return {Code::peer_lost, "cannot connect", errno};
  }
  attempt.watch = Watch(events_, fd.get(), nullptr);
  attempt.fd = std::move(fd);
  attempt.sent = attempt.received = 0;
  return {};
}

Status Dialer::send_introduction(std::size_t index) {
  Attempt& attempt = attempts_[index];
  if (attempt.sent == kIntroductionBytes) return {};
  std::array<std::byte, kIntroductionBytes> bytes;
  introduction_.stream = static_cast<std::uint8_t>(index);
  encode_introduction(introduction_, bytes);
  // While the connection is being made this answers EAGAIN; afterwards, why it was not.
  const ssize_t n = ::send(attempt.fd.get(), bytes.data() + attempt.sent,
                           bytes.size() - attempt.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return Status::would_block();
    return {Code::system_error, "the set-up was cut off", errno};
  }
  attempt.sent += static_cast<std::size_t>(n);
  return attempt.sent == kIntroductionBytes ? Status() : Status::would_block();
}

Status Dialer::read_reply(Attempt& attempt) {
  const ssize_t n = ::recv(attempt.fd.get(), attempt.reply.data() + attempt.received,
                           kReplyBytes - attempt.received, MSG_DONTWAIT);
  if (n == 0) return {Code::system_error, "the set-up was cut off", ECONNRESET};
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return Status::would_block();
    return {Code::system_error, "the set-up was cut off", errno};
  }
  attempt.received += static_cast<std::size_t>(n);
  if (attempt.received < kReplyBytes) return Status::would_block();
  const Result<Reply> reply = decode_reply(attempt.reply);
  if (!reply.ok()) return reply.status();
  peer_window_bytes_ = reply.value().window_bytes;
  attempt.welcome = true;
  return {};
}

void Dialer::retry_later(Attempt& attempt, std::int64_t now_ns, int error) {
  last_error_ = error;
  attempt.watch = {};
  attempt.fd = {};
  attempt.retry_at_ns =
      now_ns + std::min(kFirstPauseNs << std::min(attempt.failures++, 10), kLongestPauseNs);
}

std::vector<UniqueFd> Dialer::take_sockets() {
  std::vector<UniqueFd> sockets;
  for (Attempt& attempt : attempts_) {
    attempt.watch = {};
    sockets.push_back(std::move(attempt.fd));
  }
  return sockets;
}

}  // namespace thinwire::transports::tcp
