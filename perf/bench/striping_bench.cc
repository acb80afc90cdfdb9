// What one slow socket costs a striped TCP connection: throughput with all sockets alike, then with
// one of them paced to a crawl, in turns in one run.
//
//   striping_bench
// A name says sockets / pace of each in MB/s (0: as fast as it goes). `kept` is the throughput that
// is left, as a fraction; `fair` what is left when the slow socket's share is lost and nothing
// more; `slow_share` what the slow socket still carried.

#include <benchmark/benchmark.h>
#include <dirent.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/tcp/handle.h"
#include "transports/tcp/tcp_transport.h"

namespace thinwire::perf {
namespace {

namespace tcp = transports::tcp;

constexpr std::size_t kMessageBytes = std::size_t{1} << 20;
constexpr std::size_t kAtOnce = 8;
constexpr unsigned int kCrawlBytesPerSecond = 256 * 1024;
constexpr double kBytesPerMb = 1e6;

// The connecting sockets whose peer listens at `port`.
std::vector<int> sockets_to(std::uint16_t port) {
  std::vector<int> sockets;
  DIR* directory = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (tcp::remote_address(fd).port == port) sockets.push_back(fd);
  }
  ::closedir(directory);
  return sockets;
}

void pace(int fd, unsigned int bytes_per_second) {
  (void)::setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_second,
                     sizeof bytes_per_second);
}

std::uint64_t bytes_sent_on(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, 6 /* IPPROTO_TCP */, TCP_INFO, &info, &length) != 0) return 0;
  return info.tcpi_bytes_sent;
}

// A sender and a receiver on loopback, both driven by the calling thread.
class Link {
 public:
  Link(int streams, const Log& log, const Clock& clock)
      : transport_(std::make_unique<tcp::TcpTransport>(config(streams), log, clock)),
        left_(std::move(transport_->open(0)).value()),
        right_(std::move(transport_->open(0)).value()),
        listener_(std::move(right_->listen()).value()),
        from_(std::move(left_->connect(listener_->handle(), {})).value()) {
    while (!to_ || !from_->state().ok()) {
      poll();
      if (to_) continue;
      auto accepted = right_->try_accept(*listener_);
      if (accepted.ok()) to_ = std::move(accepted).value();
    }
    sockets = sockets_to(tcp::decode_handle(listener_->handle()).value().address.port);
  }

  // Moves `messages`, kAtOnce in flight; returns seconds.
  double transfer(std::size_t messages) {
    const auto start = std::chrono::steady_clock::now();
    std::size_t posted = 0;
    const std::size_t end = received_ + messages;
    while (received_ < end) {
      for (; posted < messages && received_ + kAtOnce > end - messages + posted; ++posted) {
        const std::size_t slot = posted % kAtOnce;
        const transports::ReceiveBuffer buffer{into_[slot].data(), kMessageBytes, slot, {}};
        (void)to_->post_receive({&buffer, 1}, slot).ok();
        (void)from_->post_send(source_.data(), kMessageBytes, slot, {}, slot).ok();
      }
      poll();
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  std::vector<int> sockets;  // of the sender

 private:
  static Config config(int streams) {
    Config config;
    config.socket_ifname = "=lo";
    config.tcp_streams = streams;
    return config;
  }
  void poll() {
    std::array<transports::Completion, 16> done;
    (void)left_->poll(done);
    received_ += right_->poll(done);
  }

  std::unique_ptr<transports::Transport> transport_;
  std::unique_ptr<transports::Endpoint> left_, right_;
  std::unique_ptr<transports::Listener> listener_;
  std::unique_ptr<transports::Connection> from_, to_;
  std::vector<std::byte> source_ = std::vector<std::byte>(kMessageBytes);
  std::array<std::vector<std::byte>, kAtOnce> into_ = [] {
    std::array<std::vector<std::byte>, kAtOnce> buffers;
    for (auto& buffer : buffers) buffer.resize(kMessageBytes);
    return buffers;
  }();
  std::size_t received_ = 0;
};

void discard_line(LogLevel, const char*, int, const char*) {}

void one_slow_socket(benchmark::State& state) {
  const auto streams = static_cast<int>(state.range(0));
  const auto pace_each = static_cast<unsigned int>(state.range(1) * 1'000'000);
  const std::size_t messages = pace_each == 0 ? 1024 : static_cast<std::size_t>(state.range(1)) * 4;
  const Log log(discard_line);
  const SteadyClock clock;
  double alike = 0, slowed = 0, slow_bytes = 0, all_bytes = 0;
  for (auto _ : state) {
    for (const bool slow : {false, true}) {
      Link link(streams, log, clock);
      for (const int fd : link.sockets) {
        if (pace_each != 0) pace(fd, pace_each);
      }
      if (slow) pace(link.sockets[1], kCrawlBytesPerSecond);
      (slow ? slowed : alike) += link.transfer(messages);
      if (!slow) continue;
      slow_bytes += static_cast<double>(bytes_sent_on(link.sockets[1]));
      all_bytes += static_cast<double>(messages * kMessageBytes);
    }
  }
  const auto moved = static_cast<double>(state.iterations()) *
                     static_cast<double>(messages * kMessageBytes) / kBytesPerMb;
  state.counters["alike_MB/s"] = moved / alike;
  state.counters["slowed_MB/s"] = moved / slowed;
  state.counters["kept"] = alike / slowed;
  state.counters["fair"] = pace_each == 0 ? 1.0 : 1.0 - 1.0 / streams;
  state.counters["slow_share"] = slow_bytes / all_bytes;
}
BENCHMARK(one_slow_socket)
    ->ArgNames({"sockets", "pace_MB/s"})
    ->Args({4, 0})
    ->Args({4, 50})
    ->Args({2, 50})
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thinwire::perf

BENCHMARK_MAIN();
