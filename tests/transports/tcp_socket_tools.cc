#include <dirent.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>

#include "tests/transports/contract.h"
#include "tests/transports/tcp_sockets.h"

namespace thinwire::transports::tcp {

namespace {
constexpr auto kHangDeadline = std::chrono::seconds(60);
void discard_line(LogLevel, const char*, int, const char*) {}

void collect(Endpoint& endpoint, std::vector<Completion>& done) {
  std::array<Completion, 16> polled;
  const std::size_t count = endpoint.poll(polled);
  done.insert(done.end(), polled.begin(), polled.begin() + static_cast<std::ptrdiff_t>(count));
}
}  // namespace

TcpPair::TcpPair(const Config& config, const Clock& clock)
    : log(discard_line), transport(std::make_unique<TcpTransport>(config, log, clock)) {
  left = std::move(transport->open(0)).value();
  right = std::move(transport->open(0)).value();
}

void TcpPair::poll_once() {
  if (poll_left) collect(*left, left_done);
  if (poll_right) collect(*right, right_done);
}

bool TcpPair::progress_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kHangDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    poll_once();
  }
  return true;
}

std::unique_ptr<Listener> TcpPair::listen() { return std::move(right->listen()).value(); }

bool TcpPair::connect(Listener& listener) {
  from = std::move(left->connect(listener.handle(), {})).value();
  return progress_until([&] {
    if (!to) {
      auto accepted = right->try_accept(listener);
      if (accepted.ok()) to = std::move(accepted).value();
    }
    return to && from->state().ok();
  });
}

bool TcpPair::transfer(std::size_t count, std::size_t bytes) {
  constexpr std::size_t kAtOnce = 8;
  std::vector<contract::Bytes> sent, got(kAtOnce, contract::Bytes(bytes));
  for (std::size_t i = 0; i < kAtOnce; ++i) sent.push_back(contract::pattern(bytes, i));
  left_done.clear();
  right_done.clear();
  for (std::size_t first = 0; first < count; first += kAtOnce) {
    const std::size_t now = std::min(kAtOnce, count - first);
    for (std::size_t i = 0; i < now; ++i) {
      const ReceiveBuffer buffer{got[i].data(), bytes, i, {}};
      if (!to->post_receive({&buffer, 1}, i).ok()) return false;
      if (!from->post_send(sent[i].data(), bytes, i, {}, i).ok()) return false;
    }
    if (!progress_until(
            [&] { return left_done.size() >= first + now && right_done.size() >= first + now; })) {
      return false;
    }
    for (std::size_t i = 0; i < now; ++i) {
      if (got[i] != sent[i]) return false;
      std::ranges::fill(got[i], std::byte{0});
    }
  }
  return true;
}

Config loopback_config() {
  Config config;
  config.socket_ifname = "=lo";
  config.socket_family = AddressFamily::ipv4;
  return config;
}

SocketAddress address_of(const Listener& listener) {
  return decode_handle(listener.handle()).value().address;
}

UniqueFd connect_plainly(const SocketAddress& address) {
  UniqueFd fd(::socket(address.native_family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage native;
  const socklen_t length = address.to_native(native);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&native), length), 0);
  return fd;
}

bool is_closed_by_peer(const UniqueFd& socket) {
  char buffer[256];
  for (;;) {
    const ssize_t n = ::recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0) continue;
    return n == 0 || errno == ECONNRESET;
  }
}

Introduction introduction_for(const Listener& listener) {
  Introduction introduction;
  introduction.token = decode_handle(listener.handle()).value().token;
  introduction.connection = random_token();
  introduction.window_bytes = 1 << 20;
  return introduction;
}

void send_bytes(const UniqueFd& socket, std::span<const std::byte> bytes) {
  EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

namespace {
void for_each_descriptor(const std::function<void(int)>& visit) {
  DIR* directory = ::opendir("/proc/self/fd");
  ASSERT_NE(directory, nullptr);
  while (const dirent* entry = ::readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(directory)) visit(fd);
  }
  ::closedir(directory);
}
}  // namespace

std::size_t open_descriptors() {
  std::size_t count = 0;
  for_each_descriptor([&](int) { ++count; });
  return count;
}

std::vector<int> sockets_to(std::uint16_t port) {
  std::vector<int> found;
  for_each_descriptor([&](int fd) {
    if (remote_address(fd).port == port) found.push_back(fd);
  });
  return found;
}

}  // namespace thinwire::transports::tcp
