#include "transports/tcp/striping.h"

#include <algorithm>

namespace thinwire::transports::tcp {

namespace {
constexpr std::int64_t kSampleNs = 500'000;      // shorter ones measure the scheduler
constexpr std::int64_t kLeastSampleNs = 20'000;  // of one that ended by running dry
constexpr std::int64_t kIdleLookNs = 100'000;    // between looks at a nearly idle stream
constexpr double kMemoryNs = 10e6;               // of the moving average
constexpr double kLeastRate = 10e3;
constexpr std::uint64_t kIgnoredBacklog = 64 * 1024;  // keeps small messages on one stream
constexpr std::size_t kCarefulChunk = 32 * 1024;      // for a stream that was never measured
constexpr std::size_t kOfferBytes = 16 * 1024;
constexpr std::size_t kLeastChunk = 8 * 1024;
constexpr double kChunkSeconds = 0.004;  // no chunk occupies a stream for longer
constexpr std::int64_t kLongestOfferNs = 30'000'000'000;
constexpr double kSlowShare = 0.25;  // of the best stream's rate

// What a stream is through with in kChunkSeconds.
std::size_t fitting_bytes(const RateMeter& meter) {
  return static_cast<std::size_t>(std::min(meter.bytes_per_second() * kChunkSeconds, 1e9));
}

}  // namespace

void RateMeter::observe(std::int64_t now_ns, std::uint64_t handed_bytes,
                        std::uint64_t backlog_bytes) {
  const std::uint64_t drained = handed_bytes - std::min(handed_bytes, backlog_bytes);
  const std::int64_t elapsed = now_ns - since_ns_;
  if (was_busy_ && elapsed < (backlog_bytes > 0 ? kSampleNs : kLeastSampleNs)) return;
  if (was_busy_) {
    const double sample = static_cast<double>(drained - std::min(drained, drained_then_)) * 1e9 /
                          static_cast<double>(elapsed);
    const bool ran_dry = backlog_bytes == 0;
    if (!ran_dry) {
      const double weight =
          measured_ ? static_cast<double>(elapsed) / (static_cast<double>(elapsed) + kMemoryNs)
                    : 1.0;
      bytes_per_second_ += weight * (sample - bytes_per_second_);
    } else {
      // It was not busy all the time, so it can do at least this much.
      bytes_per_second_ = measured_ ? std::max(bytes_per_second_, sample) : sample;
    }
    bytes_per_second_ = std::max(bytes_per_second_, kLeastRate);
    measured_ = true;
  }
  was_busy_ = backlog_bytes > 0;
  since_ns_ = now_ns;
  drained_then_ = drained;
}

void RateMeter::begins(std::int64_t now_ns) {
  was_busy_ = true;
  since_ns_ = now_ns;
}

void Striping::observe(std::size_t index, std::int64_t now_ns, std::uint64_t handed_bytes,
                       std::uint64_t backlog_bytes) {
  streams_[index].meter.observe(now_ns, handed_bytes, backlog_bytes);
  streams_[index].backlog_bytes = backlog_bytes;
}

bool Striping::is_worth_observing(std::size_t index, std::int64_t now_ns) const {
  const Load& load = streams_[index];
  return load.backlog_bytes > kIgnoredBacklog / 2 ||
         (load.backlog_bytes > 0 && now_ns - load.meter.observed_at_ns() > kIdleLookNs);
}

void Striping::handed(std::size_t index, std::int64_t now_ns, std::size_t bytes) {
  Load& load = streams_[index];
  if (load.backlog_bytes == 0) load.meter.begins(now_ns);
  load.backlog_bytes += bytes;
}

double Striping::seconds_until_through(const Load& load, std::size_t bytes) {
  const std::uint64_t ahead = load.backlog_bytes - std::min(load.backlog_bytes, kIgnoredBacklog);
  return static_cast<double>(ahead + bytes) / load.meter.bytes_per_second();
}

bool Striping::is_owed_an_offer(const Load& load, std::int64_t now_ns, double best_rate) const {
  return load.backlog_bytes == 0 && now_ns - load.last_used_ns > load.offer_after_ns &&
         load.meter.bytes_per_second() < kSlowShare * best_rate;
}

Striping::Choice Striping::choose(std::int64_t now_ns, std::size_t chunk_bytes) {
  double best_rate = 0;
  for (const Load& load : streams_) {
    best_rate = std::max(best_rate, load.meter.bytes_per_second());
  }
  std::size_t best = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Load& load = streams_[i];
    if (is_owed_an_offer(load, now_ns, best_rate)) {
      return make_offer(i, now_ns, chunk_bytes);
    }
    if (seconds_until_through(load, chunk_bytes) <
        seconds_until_through(streams_[best], chunk_bytes)) {
      best = i;
    }
  }
  Load& load = streams_[best];
  load.last_used_ns = now_ns;
  if (load.meter.bytes_per_second() > kSlowShare * best_rate) load.offer_after_ns = kFirstOfferNs;
  if (!load.meter.is_measured()) return {best, std::min(chunk_bytes, kCarefulChunk)};
  return {best, std::min(chunk_bytes, std::max(fitting_bytes(load.meter), kLeastChunk))};
}

// More often and with more bytes while the stream does better than at the offer before.
Striping::Choice Striping::make_offer(std::size_t index, std::int64_t now_ns,
                                      std::size_t chunk_bytes) {
  Load& load = streams_[index];
  const double rate = load.meter.bytes_per_second();
  load.offer_after_ns = rate > 2 * load.rate_at_offer
                            ? kFirstOfferNs
                            : std::min(2 * load.offer_after_ns, kLongestOfferNs);
  load.rate_at_offer = rate;
  load.last_used_ns = now_ns;
  return {index, std::min(chunk_bytes, std::max(fitting_bytes(load.meter), kOfferBytes))};
}

std::size_t Striping::quickest() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < streams_.size(); ++i) {
    if (seconds_until_through(streams_[i], 0) < seconds_until_through(streams_[best], 0)) best = i;
  }
  return best;
}

}  // namespace thinwire::transports::tcp
