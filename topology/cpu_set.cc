#include "topology/cpu_set.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>

namespace thinwire::topology {
namespace {

constexpr std::size_t kWordBits = 64;

bool parse_cpu(std::string_view text, std::size_t& cpu) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  return error == std::errc() && stop == text.data() + text.size() && cpu < CpuSet::kMaxCpus;
}

}  // namespace

std::optional<CpuSet> CpuSet::from_list(std::string_view text) {
  CpuSet set;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = range.find('-');
    std::size_t first = 0;
    if (!parse_cpu(range.substr(0, dash), first)) return std::nullopt;
    std::size_t last = first;
    if (dash != std::string_view::npos && !parse_cpu(range.substr(dash + 1), last)) {
      return std::nullopt;
    }
    if (last < first) return std::nullopt;
    for (std::size_t cpu = first; cpu <= last; ++cpu) set.add(cpu);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return set;
}

std::optional<CpuSet> CpuSet::from_mask(std::string_view text) {
  CpuSet set;
  for (std::size_t base = 0;; base += 32) {
    const std::size_t comma = text.rfind(',');
    std::string_view word = comma == std::string_view::npos ? text : text.substr(comma + 1);
    std::uint32_t bits = 0;
    if (word.starts_with("0x")) word.remove_prefix(2);
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
    if (!word.empty() && (error != std::errc() || stop != word.data() + word.size())) {
      return std::nullopt;
    }
    if (bits != 0 && base >= kMaxCpus) return std::nullopt;
    for (std::size_t bit = 0; bit < 32; ++bit) {
      if ((bits >> bit & 1) != 0) set.add(base + bit);
    }
    if (comma == std::string_view::npos) return set;
    text = text.substr(0, comma);
  }
}

void CpuSet::add(std::size_t cpu) {
  if (cpu >= kMaxCpus) return;
  if (cpu / kWordBits >= words_.size()) words_.resize(cpu / kWordBits + 1);
  words_[cpu / kWordBits] |= std::uint64_t{1} << (cpu % kWordBits);
}

bool CpuSet::contains(std::size_t cpu) const {
  return cpu / kWordBits < words_.size() && (words_[cpu / kWordBits] >> (cpu % kWordBits) & 1) != 0;
}

std::size_t CpuSet::count() const {
  std::size_t sum = 0;
  for (const std::uint64_t word : words_) sum += static_cast<std::size_t>(std::popcount(word));
  return sum;
}

std::vector<std::size_t> CpuSet::cpus() const {
  std::vector<std::size_t> all;
  for (std::size_t cpu = 0; cpu < words_.size() * kWordBits; ++cpu) {
    if (contains(cpu)) all.push_back(cpu);
  }
  return all;
}

CpuSet CpuSet::operator&(const CpuSet& other) const {
  CpuSet both;
  both.words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < both.words_.size(); ++i) both.words_[i] = words_[i] & other.words_[i];
  both.trim();
  return both;
}

CpuSet CpuSet::operator|(const CpuSet& other) const {
  CpuSet either = words_.size() < other.words_.size() ? other : *this;
  const CpuSet& shorter = words_.size() < other.words_.size() ? *this : other;
  for (std::size_t i = 0; i < shorter.words_.size(); ++i) either.words_[i] |= shorter.words_[i];
  return either;
}

std::string CpuSet::list() const {
  std::string text;
  const std::vector<std::size_t> all = cpus();
  for (std::size_t i = 0; i < all.size();) {
    std::size_t last = i;
    while (last + 1 < all.size() && all[last + 1] == all[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(all[i]);
    if (last > i) text += "-" + std::to_string(all[last]);
    i = last + 1;
  }
  return text;
}

std::string CpuSet::mask() const {
  std::string text;
  for (std::size_t i = words_.size() * 2; i-- > 0;) {
    const auto half = static_cast<std::uint32_t>(words_[i / 2] >> (i % 2 * 32));
    if (text.empty() && half == 0 && i > 0) continue;
    char digits[12];
    std::snprintf(digits, sizeof digits, text.empty() ? "%08x" : ",%08x", half);
    text += digits;
  }
  return text.empty() ? "00000000" : text;
}

void CpuSet::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace thinwire::topology
