#include "perf/plain_flow.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "perf/failure.h"

namespace thinwire::perf {
namespace {

constexpr double kConnectSeconds = 30;

HostPort parse_host_port(const std::string& text) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string::npos) return {};
  return {text.substr(0, space), std::atoi(text.c_str() + space + 1)};
}

Socket accept_one(const Socket& listener, Deadline deadline) {
  while (!deadline.passed()) {
    Socket socket = try_accept(listener);
    if (socket.open()) return socket;
    pollfd wait{listener.fd(), POLLIN, 0};
    poll(&wait, 1, deadline.poll_ms(1000));
  }
  throw Failure(ExitCode::runtime_error, "the plain TCP stream's peer did not connect");
}

}  // namespace

PlainFlow::PlainFlow(const std::string& host, Peers peers, const std::string& congestion,
                     Waiting waiting, Session& session, Watch& watch)
    : waiting_(waiting), watch_(watch) {
  Socket listener;
  std::string address;
  session.agree([&] {
    if (peers.recv_from < 0) return;
    listener = listen_on({host, 0});
    address = host + " " + std::to_string(bound_to(listener).port);
  });
  const std::vector<std::string> addresses = session.all_gather(address);
  const double patience_s = session.timeout_s() > 0 ? session.timeout_s() : kConnectSeconds;
  const Deadline deadline = Deadline::after_seconds(std::min(kConnectSeconds, patience_s));
  session.agree([&] {
    if (peers.send_to >= 0) {
      const HostPort peer = parse_host_port(addresses[static_cast<std::size_t>(peers.send_to)]);
      out_ = connect_to(peer, deadline);
      set_congestion(out_, congestion);
      set_no_delay(out_);
    }
    if (peers.recv_from >= 0) in_ = accept_one(listener, deadline);
  });
}

bool PlainFlow::move_out(Progress& progress, const std::byte* data, std::size_t bytes) {
  if (progress.left == 0) return false;
  const std::ptrdiff_t sent = try_send(out_, data + progress.at, bytes - progress.at);
  if (sent < 0) throw Failure(ExitCode::runtime_error, "the plain TCP stream's peer is gone");
  progress.at += static_cast<std::size_t>(sent);
  if (progress.at == bytes) {
    progress.at = 0;
    --progress.left;
  }
  return sent > 0;
}

bool PlainFlow::move_in(Progress& progress, std::byte* data, std::size_t bytes) {
  if (progress.left == 0) return false;
  const std::ptrdiff_t got = try_recv(in_, data + progress.at, bytes - progress.at);
  if (got < 0) throw Failure(ExitCode::runtime_error, "the plain TCP stream's peer is gone");
  progress.at += static_cast<std::size_t>(got);
  if (progress.at == bytes) {
    progress.at = 0;
    --progress.left;
  }
  return got > 0;
}

void PlainFlow::wait(bool out, bool in) {
  if (waiting_ == Waiting::sleep) {
    pollfd waits[2] = {{out ? out_.fd() : -1, POLLOUT, 0}, {in ? in_.fd() : -1, POLLIN, 0}};
    poll(waits, 2, 10);
  }
  watch_.idle();
}

void PlainFlow::stream(const std::byte* out, std::byte* in, std::size_t bytes, std::size_t send,
                       std::size_t recv) {
  if (bytes == 0) return;
  Progress sending{send, 0};
  Progress receiving{recv, 0};
  while (sending.left > 0 || receiving.left > 0) {
    const bool received = move_in(receiving, in, bytes);
    const bool sent = move_out(sending, out, bytes);
    if (received || sent) {
      watch_.progressed();
    } else {
      wait(sending.left > 0, receiving.left > 0);
    }
  }
}

std::string host_of_interface(const std::string& name, const std::string& fallback) {
  ifaddrs* raw = nullptr;
  if (name.empty() || getifaddrs(&raw) != 0) return fallback;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, &freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) continue;
      if (name != entry->ifa_name) continue;
      char host[NI_MAXHOST];
      const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      if (getnameinfo(entry->ifa_addr, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0) {
        return host;
      }
    }
  }
  return fallback;
}

}  // namespace thinwire::perf
