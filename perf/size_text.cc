#include "perf/size_text.h"

#include <charconv>
#include <cmath>

namespace thinwire::perf {
namespace {

constexpr std::string_view kUnits = "KMGT";

// 0 where `unit` is none.
double factor_of(std::string_view unit) {
  if (unit.empty() || unit == "B" || unit == "b") return 1;
  const char letter = static_cast<char>(unit[0] & ~0x20);
  const std::size_t power = kUnits.find(letter);
  const std::string_view rest = unit.substr(1);
  const bool plain = rest.empty() || rest == "B" || rest == "iB";
  if (power == std::string_view::npos || !plain) return 0;
  return std::ldexp(1.0, 10 * static_cast<int>(power + 1));
}

}  // namespace

std::optional<std::size_t> parse_size(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || !(value >= 0)) return std::nullopt;
  const double factor = factor_of(std::string_view(stop, static_cast<std::size_t>(end - stop)));
  if (factor == 0 || value * factor > static_cast<double>(kMaxBytes)) return std::nullopt;
  return static_cast<std::size_t>(value * factor);
}

std::string size_text(std::size_t bytes) {
  std::size_t value = bytes;
  std::size_t unit = 0;
  while (unit < kUnits.size() && value >= 1024 && value % 1024 == 0) {
    value /= 1024;
    ++unit;
  }
  std::string text = std::to_string(value);
  if (unit > 0) text += kUnits[unit - 1];
  return text;
}

}  // namespace thinwire::perf
