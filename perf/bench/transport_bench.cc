// One stream of messages between two processes of this host over each transport, in turns in one
// run: what tcp, UCX and shared memory reach below the plugin.
//
//   transport_bench [rounds]
// Prints medians in GB/s (1e9 bytes), one way, with 8 messages outstanding, each from and to a
// buffer of its own. A transport that is absent here has no line.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "transports/shm/shm_transport.h"
#include "transports/tcp/tcp_transport.h"
#include "transports/ucx/ucx_transport.h"

namespace thinwire::perf {
namespace {

using transports::Completion;
using transports::Connection;
using transports::Endpoint;
using transports::Transport;

constexpr std::array<std::size_t, 4> kSizes{4 << 10, 64 << 10, 1 << 20, 16 << 20};
constexpr std::size_t kOutstanding = 8;
constexpr std::size_t kBytesPerSize = std::size_t{512} << 20;
constexpr std::size_t kMostMessages = 20'000;
constexpr int kMaxRounds = 100;

enum class Kind { tcp, ucx, shm };
struct Way {
  const char* name;
  Kind kind;
  const char* ucx_tls = nullptr;
};
constexpr std::array<Way, 4> kWays{{{"tcp", Kind::tcp},
                                    {"ucx, UCX_TLS=tcp", Kind::ucx, "tcp,self"},
                                    {"ucx, UCX_TLS=posix,cma", Kind::ucx, "posix,cma,self"},
                                    {"shm", Kind::shm}}};

// What the two processes and their parent share.
struct Board {
  std::atomic<bool> listening{false};
  transports::Handle handle;
  std::array<double, kSizes.size()> gb_per_s{};
};

struct Link {
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<transports::Listener> listener;
  std::unique_ptr<Connection> connection;
};

class AnyTransport {
 public:
  explicit AnyTransport(const Way& way) {
    log_.set_sink([](LogLevel, const char*, int, const char*) {});
    config_.socket_ifname = "=lo";
    if (way.kind == Kind::ucx) {
      ::setenv("UCX_TLS", way.ucx_tls, 1);
      upper_ = std::make_unique<transports::ucx::UcxTransport>(config_, log_, clock_, tcp_);
    } else if (way.kind == Kind::shm) {
      upper_ = std::make_unique<transports::shm::ShmTransport>(config_, log_, clock_, tcp_);
    }
  }
  Transport& get() { return upper_ ? *upper_ : tcp_; }

 private:
  Log log_;
  SteadyClock clock_;
  Config config_;
  transports::tcp::TcpTransport tcp_{config_, log_, clock_};
  std::unique_ptr<Transport> upper_;
};

void poll(Link& link) {
  Completion none;
  link.endpoint->poll({&none, 0});
}

bool connect(Link& link, Transport& transport, Board& board, bool sends) {
  auto endpoint = transport.open(0);
  if (!endpoint.ok()) return false;
  link.endpoint = std::move(endpoint).value();
  if (sends) {
    while (!board.listening.load()) ::usleep(1000);
    link.connection = link.endpoint->connect(board.handle, {}).value();
  } else {
    link.listener = link.endpoint->listen().value();
    board.handle = link.listener->handle();
    board.listening.store(true);
    while (!link.connection) {
      auto accepted = link.endpoint->try_accept(*link.listener);
      if (accepted.ok()) link.connection = std::move(accepted).value();
      poll(link);
    }
  }
  while (link.connection->state().is_would_block()) poll(link);
  return link.connection->state().ok();
}

// Moves `count` messages; false when the connection failed.
bool stream(Link& link, bool sends, std::vector<std::byte>& memory, std::size_t bytes,
            std::size_t count) {
  std::array<Completion, kOutstanding> ended;
  std::size_t posted = 0;
  std::size_t done = 0;
  while (done < count) {
    while (posted < count && posted - done < kOutstanding) {
      std::byte* data = memory.data() + posted % kOutstanding * bytes;
      const transports::ReceiveBuffer buffer{data, bytes, 1, {}};
      const Status status = sends ? link.connection->post_send(data, bytes, 1, {}, posted)
                                  : link.connection->post_receive({&buffer, 1}, posted);
      if (!status.ok()) break;
      ++posted;
    }
    done += link.endpoint->poll(ended);
    if (link.connection->state().failed()) return false;
  }
  return true;
}

int run_side(const Way& way, Board& board, bool sends) {
  AnyTransport transport(way);
  Link link;
  if (!connect(link, transport.get(), board, sends)) return 1;
  std::vector<std::byte> memory(kSizes.back() * kOutstanding);
  const SteadyClock clock;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const std::size_t count = std::min(kBytesPerSize / kSizes[i], kMostMessages);
    if (!stream(link, sends, memory, kSizes[i], 2 * kOutstanding)) return 1;
    const std::int64_t begin_ns = clock.now_ns();
    if (!stream(link, sends, memory, kSizes[i], count)) return 1;
    const auto ns = static_cast<double>(clock.now_ns() - begin_ns);
    if (!sends) board.gb_per_s[i] = static_cast<double>(count * kSizes[i]) / ns;
  }
  return 0;
}

// Both sides in processes of their own, because UCX reads its settings once in a process.
bool run(const Way& way, Board& board) {
  board.listening.store(false);
  std::array<pid_t, 2> sides{};
  for (const bool sends : {false, true}) {
    const pid_t side = ::fork();
    if (side == 0) ::_exit(run_side(way, board, sends));
    sides[sends ? 1 : 0] = side;
  }
  bool good = true;
  for (const pid_t side : sides) {
    int status = 0;
    good &= ::waitpid(side, &status, 0) == side && status == 0;
  }
  return good;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int run_all(int rounds) {
  void* memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  Board& board = *new (memory) Board;
  std::array<std::array<std::vector<double>, kSizes.size()>, kWays.size()> results;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      if (!run(kWays[way], board)) continue;
      for (std::size_t i = 0; i < kSizes.size(); ++i) {
        results[way][i].push_back(board.gb_per_s[i]);
      }
    }
  }
  std::printf("%-24s %8s %8s %8s %8s   (GB/s, medians of %d)\n", "", "4K", "64K", "1M", "16M",
              rounds);
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    if (results[way][0].empty()) continue;
    std::printf("%-24s", kWays[way].name);
    for (const auto& result : results[way]) std::printf(" %8.2f", median(result));
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace thinwire::perf

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  if (argc > 2 || rounds < 1 || rounds > thinwire::perf::kMaxRounds) {
    std::fprintf(stderr, "usage: transport_bench [rounds]; accepted: 1 to %d\n",
                 thinwire::perf::kMaxRounds);
    return 2;
  }
  return thinwire::perf::run_all(rounds);
}
