// Which elements top-k sends. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "compression/topk_source.h"

namespace thinwire::compression {

// All with a magnitude above `limit` (bits) or not finite, and the first `ties` of those at it.
struct TopkCut {
  std::uint32_t limit;
  std::size_t ties = 0;
};

// How many of `count` elements are wanted, at least one of any; a choice that is not exact may hold
// this many at least and at most, and no message holds more than the latter of its whole count.
std::size_t topk_wanted(std::size_t count, float ratio);
constexpr std::size_t topk_least(std::size_t wanted) { return wanted - wanted * 3 / 10; }
constexpr std::size_t topk_most(std::size_t wanted) { return wanted + wanted * 3 / 10; }

// Elements that may be sent and where they are, in ascending order, where they are few.
class TopkCandidates {
 public:
  static constexpr std::size_t kCapacity = 8192;

  void clear() {
    count_ = 0;
    complete_ = true;
  }
  void drop() { complete_ = false; }
  // Whether all that were added are there.
  bool complete() const { return complete_; }
  std::size_t room() const { return kCapacity - count_; }
  // Those at `first` + each index. Requires complete() and room().
  void add(std::size_t first, std::span<const std::uint16_t> indices, const float* values);
  // Gives up those of which the magnitude (bits) is not above `limit`.
  void keep_above(std::uint32_t limit);
  std::span<const std::uint32_t> indices() const { return {indices_.data(), count_}; }
  std::span<const float> values() const { return {values_.data(), count_}; }

 private:
  std::size_t count_ = 0;
  bool complete_ = false;
  std::array<std::uint32_t, kCapacity> indices_;
  std::array<float, kCapacity> values_;
};

// Elements are first counted from a limit that this many times those wanted should exceed: it need
// not be good, and one pass over the memory is enough.
inline constexpr double kTopkCandidates = 1.5;

// How many magnitudes are above a low limit and how they are spread, from one pass over the
// elements. Where they turn out to be far too many, the limit rises on the way. Non-finite ones
// count as the largest.
class TopkCensus {
 public:
  TopkCensus(TopkSource& source, std::uint32_t low, std::size_t wanted, TopkCandidates& candidates);

  std::size_t count() const { return count_; }
  // The limit that the number nearest to `wanted` exceed, to the census' resolution; nothing where
  // that is not within topk_least() and topk_most().
  std::optional<std::uint32_t> limit() const;
  // A limit to start from next time.
  std::uint32_t next_low() const;

 private:
  static constexpr std::size_t kBins = 2048;

  struct Step {
    std::uint32_t limit;
    std::size_t count;  // above
  };
  void count(std::span<const float> values);
  std::size_t bin_of(std::uint32_t bits) const;
  void rise(TopkCandidates& candidates);
  std::uint32_t limit_of(std::size_t bin) const;
  // The last step downwards before `wanted` are reached, and the one that reaches them.
  std::array<Step, 2> steps_around(std::size_t wanted) const;

  const std::size_t wanted_;
  std::uint32_t low_;
  int shift_;
  std::uint32_t largest_ = 0;
  std::size_t count_ = 0;
  std::array<std::uint32_t, kBins> bins_{};
};

// The cut by a limit that is remembered (EncodeContext::limit) or sampled, and candidates for it;
// nothing where the elements are not of a kind for that. Needs source.count() / 4 bytes at
// `scratch`.
std::optional<TopkCut> guessed_cut(TopkSource& source, std::size_t wanted, std::uint32_t* memory,
                                   std::byte* scratch, TopkCandidates& candidates);

// The limit that the `wanted` largest of source.count() > 0 elements exceed, as estimated from some
// of them; `wanted` > 0 need not be whole. Needs source.count() / 4 bytes at `scratch`.
std::uint32_t sampled_limit(const TopkSource& source, double wanted, std::byte* scratch);

// The `wanted` largest magnitudes, ties by index, those that are not finite among them, and no
// zeros. More of them only where more are not finite: `non_finite` says how many are.
TopkCut exact_cut(const TopkSource& source, std::size_t wanted, std::size_t& non_finite);

}  // namespace thinwire::compression
