#include "compression/policy.h"

#include <algorithm>
#include <array>
#include <charconv>

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
