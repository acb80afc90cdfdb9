#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace thinwire {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// Before the distance is computed, whose cost grows with both lengths: a word may be anything.
bool lengths_are_near(std::size_t a, std::size_t b) {
  return std::max(a, b) - std::min(a, b) <= std::max<std::size_t>(b / 3, 1);
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : known) {
    if (!lengths_are_near(word.size(), candidate.size())) continue;
    const std::size_t distance = edit_distance(word, candidate);
    const bool is_near = distance <= std::max<std::size_t>(candidate.size() / 3, 1);
    if (!is_near || (!best.empty() && distance >= best_distance)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace thinwire
