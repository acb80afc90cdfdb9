#include "plugin/compress_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "compression/reduce.h"

namespace thinwire::plugin {
namespace {

constexpr std::size_t kPieceElements = 1024;

std::size_t bytes_of(const collectives::Call& call) {
  // A tail that is known to be stale is no result.
  const std::size_t valid = call.tensor ? call.tensor->valid : call.count;
  return std::min(valid, call.count) * element_bytes(call.type);
}

}  // namespace

RelativeError relative_error(DataType type, const void* values, const void* exact,
                             std::size_t count) {
  double squares = 0, norm = 0, largest = 0;
  std::array<float, kPieceElements> got, want;
  const std::size_t element = element_bytes(type);
  for (std::size_t first = 0; first < count; first += kPieceElements) {
    const std::size_t n = std::min(kPieceElements, count - first);
    compression::load(type, static_cast<const std::byte*>(values) + first * element, got.data(), n);
    compression::load(type, static_cast<const std::byte*>(exact) + first * element, want.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      if (!std::isfinite(want[i])) {
        const bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
        if (!same) return {1, 1};
        continue;
      }
      const double error = std::abs(static_cast<double>(got[i]) - want[i]);
      squares += error * error;
      norm += static_cast<double>(want[i]) * want[i];
      largest = std::max(largest, error);
    }
  }
  if (squares == 0) return {};
  if (norm == 0) return {1, 1};
  return {std::sqrt(squares / norm), largest / std::sqrt(norm / static_cast<double>(count))};
}

CompressCheck::CompressCheck(const collectives::Call& compressed)
    : compressed_(compressed), exact_(compressed) {
  const auto* input = static_cast<const std::byte*>(compressed.input);
  const std::size_t bytes = compressed.count * element_bytes(compressed.type);
  input_.assign(input, input + bytes);
  output_.resize(bytes);
  exact_.input = input_.data();
  exact_.output = output_.data();
  exact_.exact = true;
  exact_.tensor.reset();
}

std::string CompressCheck::report() const {
  const std::size_t count = bytes_of(compressed_) / element_bytes(compressed_.type);
  const RelativeError error =
      relative_error(compressed_.type, compressed_.output, output_.data(), count);
  std::array<char, 160> text;
  std::snprintf(text.data(), text.size(),
                "all-reduce of %zu %s: relative error rms %.2e, largest %.2e", count,
                name_of(compressed_.type), error.rms, error.largest);
  return text.data();
}

}  // namespace thinwire::plugin
