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
constexpr std::int64_t kTrustNs = 1'000'000;  // between doublings of what a stream is trusted with
constexpr std::uint64_t kMostTrustedBytes = std::uint64_t{1} << 30;
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
  const bool ran_dry = backlog_bytes == 0;
  // Draining comes in bursts: what ran dry is judged by the whole time that it took.
  const std::int64_t from_ns = ran_dry ? busy_since_ns_ : since_ns_;
  const std::uint64_t drained_from = ran_dry ? drained_before_busy_ : drained_then_;
  const std::int64_t elapsed = now_ns - from_ns;
  if (was_busy_ && elapsed < (ran_dry ? kLeastSampleNs : kSampleNs)) return;
  if (was_busy_) {
    const double sample = static_cast<double>(drained - std::min(drained, drained_from)) * 1e9 /
                          static_cast<double>(elapsed);
    if (ran_dry)
      sample_run_dry(sample);
    else
      sample_while_busy(sample, elapsed);
    bytes_per_second_ = std::max(bytes_per_second_, kLeastRate);
    measured_ = true;
    trust_more(now_ns, drained - std::min(drained, drained_before_busy_));
  }
  was_busy_ = !ran_dry;
  since_ns_ = now_ns;
  drained_then_ = drained;
}

void RateMeter::sample_while_busy(double sample, std::int64_t elapsed_ns) {
  const double weight =
      static_cast<double>(elapsed_ns) / (static_cast<double>(elapsed_ns) + kMemoryNs);
  bytes_per_second_ += (measured_ ? weight : 1.0) * (sample - bytes_per_second_);
}

// It was not busy all the time, so it can do at least this much; but a small burst after a pause
// proves little, so a slow stream climbs step by step.
void RateMeter::sample_run_dry(double sample) {
  bytes_per_second_ = std::max(bytes_per_second_, std::min(sample, 2 * bytes_per_second_));
}

// As in TCP's slow start, but not faster than a burst could deceive.
void RateMeter::trust_more(std::int64_t now_ns, std::uint64_t drained_in_a_row) {
  if (drained_in_a_row < trusted_bytes_ || now_ns - trusted_at_ns_ < kTrustNs) return;
  trusted_at_ns_ = now_ns;
  trusted_bytes_ = std::min(2 * trusted_bytes_, kMostTrustedBytes);
}

void RateMeter::begins(std::int64_t now_ns) {
  was_busy_ = true;
  since_ns_ = busy_since_ns_ = now_ns;
  drained_before_busy_ = drained_then_;
}

void Striping::observe(std::size_t index, std::int64_t now_ns, std::uint64_t handed_bytes,
                       std::uint64_t backlog_bytes) {
  streams_[index].meter.observe(now_ns, handed_bytes, backlog_bytes);
  streams_[index].backlog_bytes = backlog_bytes;
}

bool Striping::is_worth_observing(std::size_t index, std::int64_t now_ns) const {
  const Load& load = streams_[index];
  return load.backlog_bytes > kIgnoredBacklog / 2 || !has_trust_left(load) ||
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

bool Striping::has_trust_left(const Load& load) {
  return load.backlog_bytes < load.meter.trusted_bytes();
}

bool Striping::is_owed_an_offer(const Load& load, std::int64_t now_ns, double best_rate) const {
  return load.backlog_bytes == 0 && now_ns - load.last_used_ns > load.offer_after_ns &&
         load.meter.bytes_per_second() < kSlowShare * best_rate;
}

std::optional<Striping::Choice> Striping::choose(std::int64_t now_ns, std::size_t chunk_bytes) {
  double best_rate = 0;
  for (const Load& load : streams_) {
    best_rate = std::max(best_rate, load.meter.bytes_per_second());
  }
  Load* best = nullptr;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Load& load = streams_[i];
    if (is_owed_an_offer(load, now_ns, best_rate)) return make_offer(i, now_ns, chunk_bytes);
    if (load.meter.bytes_per_second() < kSlowShare * best_rate) load.meter.distrust();
    if (!has_trust_left(load)) continue;
    if (best == nullptr ||
        seconds_until_through(load, chunk_bytes) < seconds_until_through(*best, chunk_bytes)) {
      best = &load;
    }
  }
  if (best == nullptr) return std::nullopt;
  best->last_used_ns = now_ns;
  if (best->meter.bytes_per_second() > kSlowShare * best_rate) best->offer_after_ns = kFirstOfferNs;
  const std::size_t trusted =
      best->meter.trusted_bytes() - std::min(best->meter.trusted_bytes(), best->backlog_bytes);
  return Choice{
      static_cast<std::size_t>(best - streams_.data()),
      std::min(chunk_bytes, std::max(std::min(fitting_bytes(best->meter), trusted), kLeastChunk))};
}

// More often and with more bytes while the stream does better than at the offer before.
Striping::Choice Striping::make_offer(std::size_t index, std::int64_t now_ns,
                                      std::size_t chunk_bytes) {
  Load& load = streams_[index];
  const double rate = load.meter.bytes_per_second();
  load.offer_after_ns = rate > 1.5 * load.rate_at_offer
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
