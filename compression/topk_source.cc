#include "compression/topk_source.h"

#include <bit>

#include "compression/encode_input.h"
#include "compression/reduce.h"

namespace thinwire::compression {
namespace {

constexpr std::size_t kWord = 64;

}  // namespace

TopkSource::TopkSource(const void* elements, DataType type, std::size_t count, float* residual)
    : elements_(static_cast<const std::byte*>(elements)),
      type_(type),
      count_(count),
      residual_(residual),
      largest_(largest_of(type)) {}

std::size_t TopkSource::mark(std::size_t first, std::size_t n, std::uint32_t limit,
                             std::uint64_t* bitmap) {
  std::size_t marked = 0;
  const bool summed = first < summed_;
  for (std::size_t i = 0; i < n; i += kTileElements, bitmap += kTileElements / kWord) {
    const std::size_t in_tile = std::min(kTileElements, n - i), rest = in_tile % kWord;
    const std::byte* const from = elements_ + (first + i) * element_bytes(type_);
    const auto* x = reinterpret_cast<const float*>(from);
    if (type_ != DataType::float32) {
      load(type_, from, tile_.data(), in_tile);
      x = tile_.data();
    }
    float* const residual = residual_ == nullptr ? nullptr : residual_ + first + i;
    marked += mark_words(x, residual, summed, in_tile / kWord, limit, bitmap);
    if (rest == 0) continue;
    const std::size_t whole = in_tile - rest;
    std::array<float, kWord> last{}, last_residual{};
    std::copy_n(x + whole, rest, last.begin());
    if (residual != nullptr) std::copy_n(residual + whole, rest, last_residual.begin());
    marked += mark_words(last.data(), residual == nullptr ? nullptr : last_residual.data(), summed,
                         1, limit, bitmap + whole / kWord);
    if (residual != nullptr) std::copy_n(last_residual.begin(), rest, residual + whole);
  }
  summed_ = std::max(summed_, first + n);
  return marked;
}

std::size_t TopkSource::mark_words(const float* x, float* residual, bool summed, std::size_t words,
                                   std::uint32_t limit, std::uint64_t* bitmap) {
  if (residual == nullptr) return kernels().mark_above(x, words, limit, bitmap);
  if (!summed) return kernels().mark_sums(x, residual, largest_, words, limit, bitmap);
  if (finite_) return kernels().mark_above(residual, words, limit, bitmap);
  std::array<std::uint64_t, kTileElements / kWord> lone;
  kernels().mark_above(residual, words, limit, bitmap);
  kernels().mark_above(x, words, kInfinityBits - 1, lone.data());
  std::size_t marked = 0;
  for (std::size_t w = 0; w < words; ++w) {
    bitmap[w] |= lone[w];
    marked += static_cast<std::size_t>(std::popcount(bitmap[w]));
  }
  return marked;
}

}  // namespace thinwire::compression
