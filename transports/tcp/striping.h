// Which of a connection's streams gets the next chunk: the one where it is expected to be through
// first. Pure arithmetic on what the connection observed; owner: a Connection; one thread.
//
// A stream that became slow gets next to nothing, so it cannot gate the others; now and then it is
// offered a small chunk, ever more rarely while it stays slow, so that one that recovered is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace thinwire::transports::tcp {

// What one stream drains per second while it has something to drain, and how much at once it has
// shown that it can take: a paced or throttled path lets the first bytes after a pause through at
// full speed, so what it did with little says nothing about what it will do with much.
class RateMeter {
 public:
  // `handed_bytes`: all that the stream was ever given; `backlog_bytes`: of it, what is not
  // through yet.
  void observe(std::int64_t now_ns, std::uint64_t handed_bytes, std::uint64_t backlog_bytes);
  // An idle stream is about to get something.
  void begins(std::int64_t now_ns);
  std::int64_t observed_at_ns() const { return since_ns_; }
  double bytes_per_second() const { return bytes_per_second_; }
  // The backlog that it may be given: doubles while it drains that much in a row.
  std::uint64_t trusted_bytes() const { return trusted_bytes_; }
  void distrust() { trusted_bytes_ = kLeastTrustedBytes; }

 private:
  void sample_while_busy(double sample, std::int64_t elapsed_ns);
  void sample_run_dry(double sample);
  void trust_more(std::int64_t now_ns, std::uint64_t drained_in_a_row);

  double bytes_per_second_ = 100e6;  // until something is known
  bool measured_ = false;
  bool was_busy_ = false;
  std::int64_t since_ns_ = 0;
  std::int64_t busy_since_ns_ = 0;
  std::uint64_t drained_then_ = 0;
  std::uint64_t drained_before_busy_ = 0;
  std::uint64_t trusted_bytes_ = kLeastTrustedBytes;
  std::int64_t trusted_at_ns_ = 0;

  static constexpr std::uint64_t kLeastTrustedBytes = 16 * 1024;
};

class Striping {
 public:
  struct Choice {
    std::size_t stream = 0;
    std::size_t limit_bytes = 0;  // of the chunk
  };

  explicit Striping(std::size_t streams) : streams_(streams) {}

  // Whether enough happened to ask the kernel about stream `index`: small messages go without.
  bool is_worth_observing(std::size_t index, std::int64_t now_ns) const;
  // Tells how stream `index` stands.
  void observe(std::size_t index, std::int64_t now_ns, std::uint64_t handed_bytes,
               std::uint64_t backlog_bytes);
  // Of a chunk that may have up to `chunk_bytes`. None: every stream has as much as it can be
  // trusted with; ask again when some of it is through.
  std::optional<Choice> choose(std::int64_t now_ns, std::size_t chunk_bytes);
  // Stream `index` got that much.
  void handed(std::size_t index, std::int64_t now_ns, std::size_t bytes);
  // Where a control frame gets through first.
  std::size_t quickest() const;
  double bytes_per_second(std::size_t index) const {
    return streams_[index].meter.bytes_per_second();
  }

 private:
  struct Load {
    RateMeter meter;
    std::uint64_t backlog_bytes = 0;
    std::int64_t last_used_ns = 0;
    std::int64_t offer_after_ns = kFirstOfferNs;
    double rate_at_offer = 0;
  };
  static constexpr std::int64_t kFirstOfferNs = 200'000'000;
  static double seconds_until_through(const Load& load, std::size_t bytes);
  Choice make_offer(std::size_t index, std::int64_t now_ns, std::size_t chunk_bytes);
  static bool has_trust_left(const Load& load);
  bool is_owed_an_offer(const Load& load, std::int64_t now_ns, double best_rate) const;

  std::vector<Load> streams_;
};

}  // namespace thinwire::transports::tcp
