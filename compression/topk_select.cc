#include "compression/topk_select.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "compression/float_bits.h"

namespace thinwire::compression {
namespace {

// Magnitudes are looked at from the top: 8 exponent and 3 mantissa bits, then 10, then 10.
constexpr int kTopShift = 20, kMiddleShift = 10;
constexpr std::size_t kTopBins = 2048, kLowBins = 1024;

// A census looks at 8 mantissa bits, in pieces that the first-level cache holds.
constexpr int kCensusShift = 15;
constexpr std::size_t kCensusElements = 2048;

template <std::size_t kBins, class Count = std::size_t>
struct Histogram {
  std::array<Count, kBins> bins{};

  void add(std::uint32_t key, Count by = 1) { bins[key] += by; }
  // The bin of the rank-th largest (1 is the largest); `rank` becomes its rank in the bin.
  std::uint32_t find(std::size_t& rank) const {
    std::size_t bin = kBins - 1;
    for (; bin > 0 && bins[bin] < rank; --bin) rank -= bins[bin];
    return static_cast<std::uint32_t>(bin);
  }
};

// Samples are taken in short runs, each at a random place of its own stretch of the elements, so
// that no period in them matters.
constexpr std::size_t kRun = 4;
constexpr double kSamplesAboveLimit = 40;  // the estimate's deviation is 1 / sqrt of that
constexpr std::size_t kLeastSamples = 2048, kFewSamples = 8192;

// Magnitudes of elements, as bits.
class Sample {
 public:
  Sample(const TopkSource& source, double wanted, std::byte* scratch) {
    const std::size_t count = source.count();
    const double enough = kSamplesAboveLimit * static_cast<double>(count) / wanted;
    const auto most = static_cast<double>(std::max(kFewSamples, count / 16));
    const auto size = static_cast<std::size_t>(std::clamp(enough, 1.0 * kLeastSamples, most));
    at_ = size <= kFewSamples ? reinterpret_cast<std::byte*>(few_.data()) : scratch;
    const std::size_t stretch = count / (size / kRun);
    if (stretch <= kRun) take_all(source, std::min(count, kFewSamples));
    for (std::size_t r = 0; stretch > kRun && r < size / kRun; ++r) {
      const std::uint64_t hash = (r + 1) * 0x9e3779b97f4a7c15ull;
      const std::size_t offset = ((hash >> 32) * (stretch - kRun + 1)) >> 32;
      take(source, r * stretch + offset);
    }
  }
  std::size_t size() const { return size_; }

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < size_; ++i) {
      visit(read_as<std::uint32_t>(at_ + i * sizeof(std::uint32_t)));
    }
  }

 private:
  void take(const TopkSource& source, std::size_t first) {
    if (source.plain() != nullptr) {
      std::array<std::uint32_t, kRun> run;
      std::memcpy(run.data(), source.plain() + first, sizeof run);
      for (std::uint32_t& bits : run) bits &= 0x7fffffffu;
      write_as(at_ + size_ * sizeof(std::uint32_t), run);
      size_ += kRun;
      return;
    }
    for (std::size_t i = 0; i < kRun; ++i, ++size_) {
      write_as(at_ + size_ * sizeof(std::uint32_t), magnitude_bits(source.at(first + i)));
    }
  }
  // Of few elements as many as there is room for, evenly.
  void take_all(const TopkSource& source, std::size_t size) {
    for (; size_ < size; ++size_) {
      const std::size_t i = size_ * source.count() / size;
      write_as(at_ + size_ * sizeof(std::uint32_t), magnitude_bits(source.at(i)));
    }
  }

  std::byte* at_ = nullptr;
  std::size_t size_ = 0;
  std::array<std::uint32_t, kFewSamples> few_;
};

}  // namespace

std::size_t topk_wanted(std::size_t count, float ratio) {
  if (count == 0) return 0;
  const double wanted = std::ceil(static_cast<double>(count) * static_cast<double>(ratio));
  return std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, count);
}

std::uint32_t sampled_limit(const TopkSource& source, double wanted, std::byte* scratch) {
  const Sample sample(source, wanted, scratch);
  // Neighbours go to different tables: counting twice in one place waits for the first time.
  Histogram<kTopBins, std::uint32_t> top, other;
  std::size_t turn = 0;
  sample.for_each(
      [&](std::uint32_t bits) { (++turn % 2 == 0 ? top : other).add(bits >> kTopShift); });
  for (std::size_t bin = 0; bin < kTopBins; ++bin) top.bins[bin] += other.bins[bin];
  const double share = wanted / static_cast<double>(source.count());
  auto rank = static_cast<std::size_t>(std::lround(share * static_cast<double>(sample.size())));
  rank = std::clamp<std::size_t>(rank, 1, sample.size());
  const std::uint32_t high = top.find(rank);
  Histogram<kLowBins, std::uint32_t> middle;
  // No branch: whether a sample is in the bin is not to be foreseen.
  sample.for_each([&](std::uint32_t bits) {
    middle.add((bits >> kMiddleShift) & (kLowBins - 1), bits >> kTopShift == high ? 1 : 0);
  });
  const std::uint32_t lowest = (high << kTopShift) | (middle.find(rank) << kMiddleShift);
  return std::min(lowest == 0 ? 0 : lowest - 1, kInfinityBits - 1);
}

void TopkCandidates::add(std::size_t first, std::span<const std::uint16_t> indices,
                         const float* values) {
  for (std::size_t j = 0; j < indices.size(); ++j) {
    indices_[count_ + j] = static_cast<std::uint32_t>(first + indices[j]);
    values_[count_ + j] = values[j];
  }
  count_ += indices.size();
}

void TopkCandidates::keep_above(std::uint32_t limit) {
  std::size_t kept = 0;
  for (std::size_t j = 0; j < count_; ++j) {
    indices_[kept] = indices_[j];
    values_[kept] = values_[j];
    kept += magnitude_bits(values_[j]) > limit ? 1 : 0;
  }
  count_ = kept;
}

// Where the limit is zero, magnitudes of all sizes follow.
TopkCensus::TopkCensus(TopkSource& source, std::uint32_t low, std::size_t wanted,
                       TopkCandidates& candidates)
    : wanted_(wanted), low_(low), shift_(low == 0 ? kTopShift : kCensusShift) {
  std::array<std::uint64_t, kCensusElements / 64> bitmap;
  std::array<std::uint16_t, kCensusElements + 2> marked;  // extract() may write two more
  std::array<float, kCensusElements> values;
  candidates.clear();
  if (source.count() > UINT32_MAX) candidates.drop();
  for (std::size_t first = 0; first < source.count(); first += kCensusElements) {
    const std::size_t n = std::min(kCensusElements, source.count() - first);
    if (candidates.complete() && candidates.room() < n) rise(candidates);
    const std::size_t chosen = source.mark(first, n, low_, bitmap.data());
    kernels().extract(bitmap.data(), (n + 63) / 64, marked.data());
    for (std::size_t j = 0; j < chosen; ++j) values[j] = source.at(first + marked[j]);
    count({values.data(), chosen});
    if (!candidates.complete()) continue;
    candidates.add(first, {marked.data(), chosen}, values.data());
  }
  if (largest_ < kInfinityBits) source.set_finite();
}

void TopkCensus::count(std::span<const float> values) {
  std::uint32_t largest = largest_;
  for (const float x : values) {
    const std::uint32_t bits = magnitude_bits(x);
    largest = std::max(largest, bits);
    ++bins_[bin_of(bits)];
  }
  largest_ = largest;
  count_ += values.size();
}

std::size_t TopkCensus::bin_of(std::uint32_t bits) const {
  return std::min<std::size_t>((bits - low_ - 1) >> shift_, kBins - 1);
}

// As many of those seen so far are kept as are wanted of all: none that belongs to them is lost.
void TopkCensus::rise(TopkCandidates& candidates) {
  const double enough = kTopkCandidates * static_cast<double>(wanted_);
  low_ = std::max(low_, steps_around(static_cast<std::size_t>(enough))[1].limit);
  candidates.keep_above(low_);
  if (candidates.room() < kCensusElements) candidates.drop();
  shift_ = kCensusShift;
  count_ = 0;
  bins_.fill(0);
  count(candidates.values());
}

std::uint32_t TopkCensus::limit_of(std::size_t bin) const {
  const std::uint64_t limit = low_ + (std::uint64_t{bin} << shift_);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, kInfinityBits - 1));
}

std::array<TopkCensus::Step, 2> TopkCensus::steps_around(std::size_t wanted) const {
  std::size_t bin = largest_ > low_ ? bin_of(largest_) + 1 : 1, count = 0, before = 0;
  while (bin != 0 && count < wanted) {
    before = count;
    count += bins_[--bin];
  }
  return {Step{limit_of(bin + 1), before}, Step{limit_of(bin), count}};
}

std::optional<std::uint32_t> TopkCensus::limit() const {
  if (low_ == 0 && count_ <= wanted_) return 0;
  const auto [fewer, more] = steps_around(wanted_);
  const bool fewer_are_nearer =
      more.count > wanted_ && wanted_ - fewer.count < more.count - wanted_;
  const Step& nearest = fewer_are_nearer ? fewer : more;
  if (nearest.count < topk_least(wanted_) || nearest.count > topk_most(wanted_)) {
    return std::nullopt;
  }
  return nearest.limit;
}

std::uint32_t TopkCensus::next_low() const {
  const auto candidates = static_cast<std::size_t>(kTopkCandidates * static_cast<double>(wanted_));
  if (count_ >= candidates) return steps_around(candidates)[1].limit;
  // Far out in the tail of what is between Gaussian and heavy-tailed a factor in number is a small
  // factor in magnitude.
  const double ratio = static_cast<double>(count_ + 1) / static_cast<double>(candidates + 1);
  const float next = float_of(low_) * static_cast<float>(std::pow(ratio, 0.15));
  return std::min(bits_of(next), kInfinityBits - 1);
}

std::optional<TopkCut> guessed_cut(TopkSource& source, std::size_t wanted, std::uint32_t* memory,
                                   std::byte* scratch, TopkCandidates& candidates) {
  constexpr int kAttempts = 3;
  std::uint32_t remembered = memory == nullptr ? 0 : *memory;
  double target = kTopkCandidates * static_cast<double>(wanted);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const bool sampled = remembered == 0 && source.count() > 0;
    const std::uint32_t low = sampled ? sampled_limit(source, target, scratch) : remembered;
    const TopkCensus census(source, low, wanted, candidates);
    if (const auto limit = census.limit()) {
      if (memory != nullptr) *memory = census.next_low();
      return TopkCut{*limit};
    }
    // Enough of them, but too many alike to tell apart: that takes an exact choice.
    if (sampled && census.count() >= topk_least(wanted)) return std::nullopt;
    if (sampled) target *= target / static_cast<double>(census.count() + 1);
    remembered = 0;
  }
  return std::nullopt;
}

TopkCut exact_cut(const TopkSource& source, std::size_t wanted, std::size_t& non_finite) {
  Histogram<kTopBins> top;
  Histogram<kLowBins> middle, low;
  for (std::size_t i = 0; i < source.count(); ++i) {
    top.add(magnitude_bits(source.at(i)) >> kTopShift);
  }
  non_finite = 0;
  for (std::size_t bin = kInfinityBits >> kTopShift; bin < kTopBins; ++bin) {
    non_finite += top.bins[bin];
  }
  if (non_finite >= wanted) return {kInfinityBits - 1};
  std::size_t rank = wanted;
  const std::uint32_t first = top.find(rank);
  for (std::size_t i = 0; i < source.count(); ++i) {
    const std::uint32_t bits = magnitude_bits(source.at(i));
    if (bits >> kTopShift == first) middle.add((bits >> kMiddleShift) & (kLowBins - 1));
  }
  const std::uint32_t second = (first << (kTopShift - kMiddleShift)) | middle.find(rank);
  for (std::size_t i = 0; i < source.count(); ++i) {
    const std::uint32_t bits = magnitude_bits(source.at(i));
    if (bits >> kMiddleShift == second) low.add(bits & (kLowBins - 1));
  }
  const std::uint32_t limit = (second << kMiddleShift) | low.find(rank);
  return {limit, limit == 0 ? 0 : rank};
}

}  // namespace thinwire::compression
