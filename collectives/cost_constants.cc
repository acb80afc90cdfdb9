#include "collectives/cost_constants.h"

#include <charconv>
#include <utility>
#include <vector>

namespace thinwire::collectives {
namespace {

using compression::CodecId;

constexpr double kLeast = 1e-6;
constexpr double kMost = 1e6;

struct Entry {
  std::string name;
  double* value;
  bool named = false;  // by an earlier line
};

constexpr std::array<std::string_view, compression::kLevelCount> kLevelNames{"host", "rack",
                                                                             "site"};

// In the order of the file.
std::vector<Entry> entries_of(CostConstants& costs) {
  std::vector<Entry> entries;
  for (std::size_t level = 0; level < kLevelNames.size(); ++level) {
    const std::string name(kLevelNames[level]);
    entries.push_back({name + ".latency_us", &costs.links[level].latency_us});
    entries.push_back({name + ".gbytes_per_s", &costs.links[level].gbytes_per_s});
  }
  entries.push_back({"fan_in", &costs.fan_in});
  entries.push_back({"message_us", &costs.message_us});
  entries.push_back({"copy_gbytes_per_s", &costs.copy_gbytes_per_s});
  entries.push_back({"reduce_gbytes_per_s", &costs.reduce_gbytes_per_s});
  for (std::size_t id = 1; id < costs.codecs.size(); ++id) {
    const std::string name(compression::name_of(static_cast<CodecId>(id)));
    entries.push_back({name + ".encode_gbytes_per_s", &costs.codecs[id].encode_gbytes_per_s});
    entries.push_back({name + ".decode_gbytes_per_s", &costs.codecs[id].decode_gbytes_per_s});
  }
  return entries;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// "" when `line` is empty, a comment, or sets one of `entries`.
std::string take_line(std::string_view line, std::vector<Entry>& entries) {
  line = trimmed(line.substr(0, line.find('#')));
  if (line.empty()) return "";
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return "no NAME=value";
  const std::string_view name = trimmed(line.substr(0, equals));
  const std::string_view text = trimmed(line.substr(equals + 1));
  for (Entry& entry : entries) {
    if (entry.name != name) continue;
    if (std::exchange(entry.named, true)) return std::string(name) + " is named twice";
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!whole || !(value >= kLeast && value <= kMost)) {
      return std::string(name) + "=" + std::string(text) + ": a number from 1e-6 to 1e6 is needed";
    }
    *entry.value = value;
    return "";
  }
  return "unknown name " + std::string(name);
}

}  // namespace

CostConstants built_in_costs() {
  CostConstants costs;
  costs.links = {{{15, 1.5}, {30, 1.17}, {50, 1.17}}};
  costs.fan_in = 1.1;
  costs.message_us = 4;
  costs.copy_gbytes_per_s = 8;
  costs.reduce_gbytes_per_s = 6;
  const auto set = [&](CodecId id, double encode, double decode) {
    costs.codecs[static_cast<std::size_t>(id)] = {encode * costs.copy_gbytes_per_s,
                                                  decode * costs.copy_gbytes_per_s};
  };
  set(CodecId::fp16, 0.93, 0.97);
  set(CodecId::bf16, 0.75, 1.0);
  set(CodecId::int8, 0.65, 0.83);
  set(CodecId::int4, 0.53, 0.75);
  set(CodecId::fp8_e4m3, 0.38, 0.78);
  set(CodecId::fp8_e5m2, 0.45, 0.80);
  set(CodecId::topk, 0.22, 1.0);
  return costs;
}

double wire_bytes_per_element(const compression::CodecSpec& codec, double element_bytes) {
  switch (codec.id) {
    case CodecId::none:
      break;
    case CodecId::fp16:
      return 2.004;
    case CodecId::bf16:
      return 2.0;
    case CodecId::int8:
      return 1.011;
    case CodecId::int4:
      return 0.511;
    case CodecId::fp8_e4m3:
    case CodecId::fp8_e5m2:
      return 1.004;
    case CodecId::topk:
      return static_cast<double>(codec.ratio) *
             (codec.value == compression::TopkValue::fp16 ? 4 : 6);
  }
  return element_bytes;
}

Result<CostConstants> parse_costs(std::string_view text, std::string& complaint) {
  CostConstants costs = built_in_costs();
  std::vector<Entry> entries = entries_of(costs);
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string wrong = take_line(text.substr(0, end), entries);
    if (!wrong.empty()) {
      complaint = std::to_string(line) + ": " + wrong;
      return Status(Code::invalid_config, "malformed tuning file");
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return costs;
}

std::string costs_text(const CostConstants& costs) {
  CostConstants copy = costs;
  std::string text;
  for (const Entry& entry : entries_of(copy)) {
    char number[40];
    const auto end = std::to_chars(number, number + sizeof(number), *entry.value).ptr;
    text += entry.name + "=" + std::string(number, end) + "\n";
  }
  return text;
}

std::uint64_t costs_hash(const CostConstants& costs) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : costs_text(costs)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace thinwire::collectives
