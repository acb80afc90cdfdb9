#include "transports/verbs/pairs.h"

#include <algorithm>

#include "transports/verbs/message.h"

namespace thinwire::transports::verbs {

namespace {
constexpr std::int64_t kSecondNs = 1'000'000'000;
// A pair that did not fail for so long starts anew.
constexpr std::int64_t kForgetNs = 120 * kSecondNs;
constexpr int kMaxDoublings = 6;
}  // namespace

Pairs::Pairs(std::size_t here, std::size_t there)
    : here_(here), there_(there), health_(std::max(here, there)) {}

Pair Pairs::at(std::size_t number) const {
  const std::size_t pair = number % size();
  return {static_cast<std::uint16_t>(pair), static_cast<std::uint16_t>(pair % here_),
          static_cast<std::uint16_t>(pair % there_)};
}

bool Pairs::is_up(const Pair& pair) const {
  return (ports_here_ >> pair.here & 1) != 0 && (ports_there_ >> pair.there & 1) != 0;
}

void Pairs::trust(std::uint16_t Pair::*side, std::uint16_t came_up) {
  for (std::size_t i = 0; i < size(); ++i) {
    if ((came_up >> (at(i).*side) & 1) != 0) health_[i] = {};
  }
}

void Pairs::set_here(std::uint16_t ports) {
  trust(&Pair::here, static_cast<std::uint16_t>(ports & ~ports_here_));
  ports_here_ = ports;
}

void Pairs::set_there(std::uint16_t ports) {
  trust(&Pair::there, static_cast<std::uint16_t>(ports & ~ports_there_));
  ports_there_ = ports;
}

void Pairs::failed(const Pair& pair, std::int64_t now_ns) {
  Health& health = health_[pair.number];
  if (now_ns - health.failed_ns > kForgetNs) health.failures = 0;
  ++health.failures;
  health.failed_ns = now_ns;
  health.suspended_until_ns = now_ns + (kSecondNs << std::min(health.failures - 1, kMaxDoublings));
}

bool Pairs::may_retry(const Pair& pair, std::int64_t now_ns) const {
  return is_up(pair) && now_ns >= health_[pair.number].suspended_until_ns;
}

std::optional<Pair> Pairs::choose(std::size_t path) const {
  std::optional<Pair> best;
  const auto rank = [&](const Pair& pair) {
    const Health& health = health_[pair.number];
    return health.suspended_until_ns == 0 ? 0 : health.failed_ns;
  };
  for (std::size_t i = 0; i < size(); ++i) {
    const Pair pair = at(home(path).number + i);
    if (is_up(pair) && (!best || rank(pair) < rank(*best))) best = pair;
  }
  return best;
}

std::size_t data_paths_for(std::size_t wanted, std::size_t here, std::size_t there) {
  const std::size_t pairs = std::max(here, there);
  const std::size_t each = std::max<std::size_t>(1, (wanted + pairs - 1) / pairs);
  return pairs * std::min(each, kMaxDataPaths / pairs);
}

}  // namespace thinwire::transports::verbs
