// All-reduce of four processes on one host: through shared memory, over TCP on loopback, and by a
// hand-written loop that moves the same bytes through shared memory; in turns in one run.
//
//   shm_bench [MiB [rounds [ranks [schedule]]]]
// Prints the median of each in milliseconds, and the ratios.

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "collectives/engine.h"
#include "transports/shm/shm_transport.h"
#include "transports/tcp/tcp_transport.h"

namespace thinwire::perf {
namespace {

constexpr int kMaxRanks = 16;
constexpr std::size_t kCacheLineBytes = 64;
constexpr std::array<std::size_t, 3> kTileBytes{256 * 1024, 1024 * 1024, 4096 * 1024};

// Memory that all processes share: where they meet, and what they tell one another.
struct Board {
  alignas(kCacheLineBytes) std::atomic<int> arrived{0};
  alignas(kCacheLineBytes) std::atomic<unsigned> phase{0};
  std::array<std::array<transports::Handle, kMaxRanks>, 2> handles;

  void meet(int ranks) {
    const unsigned now = phase.load();
    if (arrived.fetch_add(1) + 1 == ranks) {
      arrived.store(0);
      phase.store(now + 1);
      return;
    }
    for (int spins = 0; phase.load(std::memory_order_acquire) == now; ++spins) {
      if (spins > 100) ::sched_yield();
    }
  }
};

template <class T>
T* share(std::size_t count) {
  void* memory =
      ::mmap(nullptr, sizeof(T) * count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<T*>(memory);
}

void check(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s (%d)\n", what, status.text(), status.native());
  std::_Exit(1);
}

template <class T>
T take(Result<T> result, const char* what) {
  if (!result.ok()) check(result.status(), what);
  return std::move(result).value();
}

// The links and the Engine of one rank over one transport.
class Group {
 public:
  Group(transports::Transport& transport, Board& board, int which, int rank, int ranks,
        collectives::SchedulePolicy schedule, const Log& log)
      : endpoint_(take(transport.open(0), "open")), links_(static_cast<std::size_t>(ranks)) {
    const auto listener = take(endpoint_->listen(), "listen");
    auto& handles = board.handles[static_cast<std::size_t>(which)];
    handles[static_cast<std::size_t>(rank)] = listener->handle();
    board.meet(ranks);
    for (int peer = 0; peer < rank; ++peer) {
      links_[static_cast<std::size_t>(peer)] =
          take(endpoint_->connect(handles[static_cast<std::size_t>(peer)],
                                  std::as_bytes(std::span(&rank, 1))),
               "connect");
    }
    while (!is_connected(rank)) {
      endpoint_->poll({});
      if (auto arrival = endpoint_->try_accept(*listener); arrival.ok()) {
        int peer = 0;
        std::memcpy(&peer, arrival.value()->hello().data(), sizeof peer);
        links_[static_cast<std::size_t>(peer)] = std::move(arrival).value();
      }
    }
    board.meet(ranks);
    collectives::Group group{rank, ranks, endpoint_.get(), {}};
    for (const auto& link : links_) group.connections.push_back(link.get());
    collectives::EngineOptions options;
    options.schedule = schedule;
    engine_ = take(collectives::Engine::create(options, group, log), "engine");
  }

  void all_reduce(const std::vector<float>& input, std::vector<float>& output) {
    collectives::Call call;
    call.input = input.data();
    call.output = output.data();
    call.count = input.size();
    collectives::Request* request = take(engine_->submit(call), "submit");
    while (!take(engine_->test(request, nullptr), "test")) {
      check(engine_->poll(), "poll");
      if (!engine_->has_ready_work()) ::sched_yield();
    }
  }

 private:
  bool is_connected(int rank) const {
    for (int peer = 0; peer < static_cast<int>(links_.size()); ++peer) {
      const auto& link = links_[static_cast<std::size_t>(peer)];
      if (peer != rank && (link == nullptr || !link->state().ok())) return false;
    }
    return true;
  }

  std::unique_ptr<transports::Endpoint> endpoint_;
  std::vector<std::unique_ptr<transports::Connection>> links_;
  std::unique_ptr<collectives::Engine> engine_;
};

// Per tile: everybody puts its elements into shared memory, sums a part of everybody's, and takes
// the sums of all parts. Two sets of tiles, so that nobody has to wait for the slowest reader.
void sum_by_hand(Board& board, float* shared, std::size_t tile, int rank, int ranks,
                 const std::vector<float>& input, std::vector<float>& output) {
  const auto n = static_cast<std::size_t>(ranks);
  bool odd = false;
  for (std::size_t first = 0; first < input.size(); first += tile, odd = !odd) {
    const std::size_t count = std::min(tile, input.size() - first);
    float* const tiles = shared + (odd ? (n + 1) * tile : 0);
    float* const sums = tiles + n * tile;
    std::memcpy(tiles + static_cast<std::size_t>(rank) * tile, input.data() + first,
                count * sizeof(float));
    board.meet(ranks);
    const std::size_t begin = count * static_cast<std::size_t>(rank) / n;
    const std::size_t end = count * (static_cast<std::size_t>(rank) + 1) / n;
    for (std::size_t i = begin; i < end; ++i) sums[i] = tiles[i];
    for (std::size_t other = 1; other < n; ++other) {
      const float* const terms = tiles + other * tile;
      for (std::size_t i = begin; i < end; ++i) sums[i] += terms[i];
    }
    board.meet(ranks);
    std::memcpy(output.data() + first, sums, count * sizeof(float));
  }
}

struct Options {
  std::size_t bytes = std::size_t{16} << 20;
  int rounds = 21;
  int ranks = 4;
  collectives::SchedulePolicy schedule = collectives::SchedulePolicy::automatic;
};

constexpr std::size_t kWays = 2 + kTileBytes.size();

class Rank {
 public:
  Rank(const Options& options, Board& board, float* shared, int rank)
      : options_(options),
        board_(board),
        shared_(shared),
        rank_(rank),
        input_(options.bytes / sizeof(float), static_cast<float>(rank + 1)),
        output_(input_.size()) {
    config_.socket_ifname = "=lo";
  }

  void run() {
    const Log log([](LogLevel level, const char*, int, const char* text) {
      if (level <= LogLevel::warn) std::fprintf(stderr, "%s\n", text);
    });
    const SteadyClock clock;
    transports::tcp::TcpTransport tcp(config_, log, clock);
    transports::shm::ShmTransport shm(config_, log, clock, tcp);
    Group over_shm(shm, board_, 0, rank_, options_.ranks, options_.schedule, log);
    Group over_tcp(tcp, board_, 1, rank_, options_.ranks, options_.schedule, log);
    for (int round = -2; round < options_.rounds; ++round) {
      measure(clock, round, 0, [&] { over_shm.all_reduce(input_, output_); });
      measure(clock, round, 1, [&] { over_tcp.all_reduce(input_, output_); });
      for (std::size_t i = 0; i < kTileBytes.size(); ++i) {
        measure(clock, round, 2 + i, [&] {
          sum_by_hand(board_, shared_, kTileBytes[i] / sizeof(float), rank_, options_.ranks, input_,
                      output_);
        });
      }
    }
    if (rank_ == 0) report();
    board_.meet(options_.ranks);
  }

 private:
  template <class Work>
  void measure(const Clock& clock, int round, std::size_t way, Work&& work) {
    std::fill(output_.begin(), output_.end(), 0.0F);
    board_.meet(options_.ranks);
    const std::int64_t start_ns = clock.now_ns();
    work();
    board_.meet(options_.ranks);
    if (round >= 0) ms_[way].push_back(static_cast<double>(clock.now_ns() - start_ns) / 1e6);
    const int sum = options_.ranks * (options_.ranks + 1) / 2;
    const auto expected = static_cast<float>(sum);
    if (output_.front() != expected || output_.back() != expected) {
      std::fprintf(stderr, "rank %d: wrong sums\n", rank_);
      std::_Exit(1);
    }
  }

  double median(std::size_t way) {
    std::sort(ms_[way].begin(), ms_[way].end());
    return ms_[way][ms_[way].size() / 2];
  }

  void report() {
    const double shm = median(0);
    const double tcp = median(1);
    double hand = median(2);
    for (std::size_t i = 0; i < kTileBytes.size(); ++i) {
      std::printf("by hand, tiles of %4zu KiB  %8.3f ms\n", kTileBytes[i] / 1024, median(2 + i));
      hand = std::min(hand, median(2 + i));
    }
    std::printf("shared memory             %8.3f ms\n", shm);
    std::printf("TCP on loopback           %8.3f ms\n", tcp);
    std::printf("TCP / shared memory       %8.2f\n", tcp / shm);
    std::printf("shared memory / by hand   %8.2f\n", shm / hand);
  }

  const Options options_;
  Board& board_;
  float* const shared_;
  const int rank_;
  Config config_;
  std::vector<float> input_;
  std::vector<float> output_;
  std::array<std::vector<double>, kWays> ms_;
};

collectives::SchedulePolicy schedule_of(std::string_view name) {
  if (name == "ring") return collectives::SchedulePolicy::ring;
  if (name == "direct") return collectives::SchedulePolicy::direct;
  return collectives::SchedulePolicy::automatic;
}

int run(const Options& options) {
  auto* board = new (share<Board>(1)) Board;
  const auto tiles = 2 * (static_cast<std::size_t>(options.ranks) + 1);
  auto* shared = share<float>(tiles * kTileBytes.back() / sizeof(float));
  std::vector<pid_t> children;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      Rank(options, *board, shared, rank).run();
      std::fflush(stdout);
      std::_Exit(0);
    }
    children.push_back(child);
  }
  int failures = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    failures += status != 0;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace thinwire::perf

int main(int argc, char** argv) {
  thinwire::perf::Options options;
  if (argc > 1) options.bytes = static_cast<std::size_t>(std::atoi(argv[1])) << 20;
  if (argc > 2) options.rounds = std::atoi(argv[2]);
  if (argc > 3) options.ranks = std::atoi(argv[3]);
  if (argc > 4) options.schedule = thinwire::perf::schedule_of(argv[4]);
  if (options.bytes == 0 || options.rounds < 1 || options.ranks < 2 ||
      options.ranks > thinwire::perf::kMaxRanks) {
    std::fprintf(stderr, "usage: %s [MiB [rounds [ranks (2 to %d) [ring|direct]]]]\n", argv[0],
                 thinwire::perf::kMaxRanks);
    return 2;
  }
  return thinwire::perf::run(options);
}
