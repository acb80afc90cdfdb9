#include "compression/policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace thinwire::compression {
namespace {

constexpr std::array<std::string_view, kLevelCount> kLevels{"host", "rack", "site"};
constexpr std::array kTypes{DataType::float32, DataType::float16, DataType::bfloat16};
constexpr std::array<std::string_view, 3> kTypeNames{"float32", "float16", "bfloat16"};
constexpr const char* kConditions =
    "conditions are >=SIZE, <SIZE (suffix K, M or G), float32, float16, bfloat16, host, rack, site";

// Cuts `text` at its first `mark`; `rest` is what follows it.
std::string_view cut(std::string_view text, char mark, std::string_view& rest) {
  const std::size_t at = text.find(mark);
  rest = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return text.substr(0, at);
}

std::optional<std::size_t> parse_bytes(std::string_view text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  if (stop == end) return value;
  constexpr std::string_view kSuffixes = "KMG";
  const std::size_t suffix = kSuffixes.find(static_cast<char>(*stop & ~0x20));
  if (stop + 1 != end || suffix == std::string_view::npos) return std::nullopt;
  const std::size_t factor = std::size_t{1024} << (10 * suffix);
  if (__builtin_mul_overflow(value, factor, &value)) return std::nullopt;
  return value;
}

template <std::size_t n>
std::optional<std::size_t> index_in(const std::array<std::string_view, n>& names,
                                    std::string_view text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

// False when `text` is no condition.
bool add_condition(std::string_view text, Rule& rule) {
  if (const auto level = index_in(kLevels, text)) {
    rule.level = static_cast<Level>(*level);
    return true;
  }
  if (const auto type = index_in(kTypeNames, text)) {
    rule.type = kTypes[*type];
    return true;
  }
  const bool at_least = text.starts_with(">=");
  if (!at_least && !text.starts_with("<")) return false;
  const auto bytes = parse_bytes(text.substr(at_least ? 2 : 1));
  if (!bytes) return false;
  (at_least ? rule.least_bytes : rule.below_bytes) = *bytes;
  return true;
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

bool parse_rule(std::string_view text, Rule& rule, std::string& complaint) {
  std::string_view conditions;
  const Result<CodecSpec> codec = parse_codec(cut(text, '@', conditions));
  if (!codec.ok()) {
    complaint = "rule " + quoted(text) + ": " + codec.status().text();
    return false;
  }
  rule.codec = codec.value();
  bool more = text.find('@') != std::string_view::npos;
  while (more) {
    more = conditions.find('&') != std::string_view::npos;
    std::string_view rest;
    const std::string_view condition = cut(conditions, '&', rest);
    if (!add_condition(condition, rule)) {
      complaint = "rule " + quoted(text) + ": condition " + quoted(condition) +
                  " is not understood; " + kConditions;
      return false;
    }
    conditions = rest;
  }
  if (rule.least_bytes < rule.below_bytes) return true;
  complaint = "rule " + quoted(text) + ": no size is that large and that small";
  return false;
}

// Whether one of the rules before it matches wherever `rule` does with this type at this level.
bool is_taken(const Rule& rule, std::span<const Rule> before, DataType type, Level level) {
  for (std::size_t bytes = rule.least_bytes; bytes < rule.below_bytes;) {
    const auto taker = std::ranges::find_if(
        before, [&](const Rule& other) { return other.matches(type, bytes, level); });
    if (taker == before.end()) return false;
    bytes = taker->below_bytes;
  }
  return true;
}

bool is_idle(const Rule& rule, std::span<const Rule> before) {
  for (const DataType type : kTypes) {
    for (std::size_t level = 0; level < kLevelCount; ++level) {
      const bool concerned = rule.matches(type, rule.least_bytes, static_cast<Level>(level));
      if (concerned && !is_taken(rule, before, type, static_cast<Level>(level))) return false;
    }
  }
  return true;
}

}  // namespace

bool Rule::matches(DataType of_type, std::size_t bytes, Level at) const {
  return bytes >= least_bytes && bytes < below_bytes && (!type || *type == of_type) &&
         (!level || *level == at);
}

Result<Policy> Policy::parse(std::string_view text, std::string& complaint) {
  Policy policy;
  for (bool more = true; more;) {
    more = text.find(',') != std::string_view::npos;
    std::string_view rest;
    Rule rule;
    if (!parse_rule(cut(text, ',', rest), rule, complaint)) {
      return Status(Code::invalid_config, "malformed compression rules");
    }
    policy.rules_.push_back(rule);
    text = rest;
  }
  return policy;
}

std::vector<std::string> idle_rules(std::string_view text) {
  std::vector<std::string> idle;
  std::string complaint;
  const auto policy = Policy::parse(text, complaint);
  if (!policy.ok()) return idle;
  const std::span<const Rule> rules = policy.value().rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    std::string_view rest;
    const std::string_view written = cut(text, ',', rest);
    if (is_idle(rules[i], rules.first(i))) idle.emplace_back(written);
    text = rest;
  }
  return idle;
}

std::string complaint_about_policy(std::string_view text) {
  std::string complaint;
  (void)Policy::parse(text, complaint).ok();
  return complaint;
}

std::optional<std::size_t> Policy::find(DataType type, std::size_t bytes, Level level) const {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (!rules_[i].matches(type, bytes, level)) continue;
    if (rules_[i].codec.id == CodecId::none) return std::nullopt;
    return i;
  }
  return std::nullopt;
}

bool Policy::compresses() const {
  return std::ranges::any_of(rules_,
                             [](const Rule& rule) { return rule.codec.id != CodecId::none; });
}

bool Policy::uses(CodecId id) const {
  return std::ranges::any_of(rules_, [&](const Rule& rule) { return rule.codec.id == id; });
}

}  // namespace thinwire::compression
