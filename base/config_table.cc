#include "base/config_table.h"

#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>

namespace thinwire {
namespace {

constexpr std::size_t kMaxSides = 8;
constexpr int kMaxSide = 65536;

// Multiplier of a suffix K, M or G; 0 for anything else.
std::int64_t suffix_factor(std::string_view suffix) {
  if (suffix.size() != 1) return 0;
  switch (suffix[0]) {
    case 'k':
    case 'K':
      return kKiB;
    case 'm':
    case 'M':
      return kMiB;
    case 'g':
    case 'G':
      return kGiB;
    default:
      return 0;
  }
}

std::optional<std::int64_t> parse_integer(const Setting& setting, std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  if (stop != end) {
    if (setting.unit != Unit::bytes) return std::nullopt;
    const std::int64_t factor = suffix_factor({stop, static_cast<std::size_t>(end - stop)});
    if (factor == 0 || __builtin_mul_overflow(value, factor, &value)) return std::nullopt;
  }
  if (value == 0 && setting.zero_too) return value;
  if (value < setting.minimum || value > setting.maximum) return std::nullopt;
  return value;
}

std::optional<std::size_t> parse_choice(const Setting& setting, std::string_view text) {
  for (std::size_t i = 0; i < setting.choices.size(); ++i) {
    if (setting.choices[i] == text) return i;
  }
  return std::nullopt;
}

bool assign_value(const Setting& setting, std::string_view text, std::int64_t& value) {
  const auto parsed = parse_integer(setting, text);
  if (parsed) value = *parsed;
  return parsed.has_value();
}

bool assign_value(const Setting&, std::string_view text, std::string& value) {
  value = text;
  return true;
}

// Two to kMaxSides numbers of at least 1 with an x between them, or "auto".
bool assign_value(const Setting&, std::string_view text, GridShape& value) {
  GridShape parsed;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); text != "auto"; ++at) {
    int side = 0;
    const auto [stop, error] = std::from_chars(at, end, side);
    if (error != std::errc() || side < 1 || side > kMaxSide) return false;
    parsed.sides.push_back(side);
    if (stop == end) break;
    if (*stop != 'x' || parsed.sides.size() == kMaxSides) return false;
    at = stop;
  }
  if (parsed.sides.size() == 1) return false;
  value = std::move(parsed);
  return true;
}

template <class Choice>
bool assign_value(const Setting& setting, std::string_view text, Choice& value) {
  const auto parsed = parse_choice(setting, text);
  if (parsed) value = static_cast<Choice>(*parsed);
  return parsed.has_value();
}

std::string text_of(const Setting&, std::int64_t value) { return std::to_string(value); }
std::string text_of(const Setting&, const std::string& value) { return value; }
std::string text_of(const Setting&, const GridShape& value) {
  std::string text = value.sides.empty() ? "auto" : "";
  for (const int side : value.sides) text += (text.empty() ? "" : "x") + std::to_string(side);
  return text;
}

template <class Choice>
requires std::is_enum_v<Choice> std::string text_of(const Setting& setting, Choice value) {
  return std::string(setting.choices[static_cast<std::size_t>(value)]);
}

std::string_view unit_text(Unit unit) {
  switch (unit) {
    case Unit::bytes:
      return " bytes, suffix K, M or G allowed";
    case Unit::seconds:
      return " seconds";
    case Unit::none:
      break;
  }
  return "";
}

std::string or_empty(const std::string& text) { return text.empty() ? "(empty)" : text; }

void append_row(const Setting& setting, const Config& defaults, std::string& out) {
  out += "### `" + std::string(setting.name) + "`\n\n" + std::string(setting.help) + "\n\n";
  out += "- accepts: " + accepted_text(setting) + "\n";
  const std::string standard = value_text(setting, defaults);
  out += "- default: " + (standard.empty() ? "empty" : "`" + standard + "`") + "\n";
  if (setting.agreed) out += "- must be equal on all ranks; compared when a CollNet connects\n";
  out += "\n";
}

// Folds `text` into lines of at most 76 characters that begin with "# ".
void append_comment(std::string_view text, std::string& out) {
  constexpr std::size_t kWidth = 76;
  while (!text.empty()) {
    std::size_t length = text.size();
    if (length > kWidth) length = text.rfind(' ', kWidth);
    out += "# " + std::string(text.substr(0, length)) + "\n";
    text.remove_prefix(length);
    if (!text.empty()) text.remove_prefix(1);
  }
}

}  // namespace

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : kSettings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

bool assign(const Setting& setting, std::string_view text, Config& config) {
  return std::visit(
      [&](auto field) {
        if (text.empty()) {
          config.*field = Config{}.*field;
          return true;
        }
        return assign_value(setting, text, config.*field);
      },
      setting.field);
}

std::string value_text(const Setting& setting, const Config& config) {
  return std::visit([&](auto field) { return text_of(setting, config.*field); }, setting.field);
}

std::string accepted_text(const Setting& setting) {
  if (std::holds_alternative<std::string Config::*>(setting.field)) return "text";
  if (std::holds_alternative<GridShape Config::*>(setting.field)) {
    return "auto, or 2 to " + std::to_string(kMaxSides) + " numbers like 4x8 or 2x4x8";
  }
  if (setting.choices.empty()) {
    return (setting.zero_too ? "0, or " : "") + std::to_string(setting.minimum) + " to " +
           std::to_string(setting.maximum) + std::string(unit_text(setting.unit));
  }
  std::string text = "one of ";
  for (const std::string_view choice : setting.choices) {
    if (text.back() != ' ') text += ", ";
    text += choice;
  }
  return text;
}

std::string configuration_markdown() {
  std::string out =
      "# Configuration\n\n"
      "Generated by `thinwire config --markdown` from `base/settings_*.h`; a test compares "
      "the two.\n\n"
      "Every setting is an environment variable. The same keys may stand in the file that\n"
      "`THINWIRE_CONF` names and in `/etc/thinwire.conf`, as `KEY=value` lines; `#` begins a\n"
      "comment. The environment overrides the file of `THINWIRE_CONF`, which overrides\n"
      "`/etc/thinwire.conf`. An empty value means the default. An invalid value fails\n"
      "initialisation with a message that names variable, value, source and what is accepted;\n"
      "of NCCL's own variables it is warned about and ignored, as NCCL does. An unknown\n"
      "`THINWIRE_` name is warned about. `thinwire info` shows every value and where it came\n"
      "from.\n\n";
  const Config defaults;
  std::string_view section;
  for (const Setting& setting : kSettings) {
    if (setting.section != section) out += "## " + std::string(setting.section) + "\n\n";
    section = setting.section;
    append_row(setting, defaults, out);
  }
  out.pop_back();
  return out;
}

std::string configuration_file() {
  std::string out =
      "# Settings of Thinwire on this host. The environment of a job overrides them.\n"
      "# Those marked \"equal on all ranks\" must be the same on every host of a job.\n";
  const Config defaults;
  for (const Setting& setting : kSettings) {
    out += "\n";
    append_comment(setting.help, out);
    append_comment("Accepts " + accepted_text(setting) + "; default " +
                       or_empty(value_text(setting, defaults)) +
                       (setting.agreed ? "; equal on all ranks." : "."),
                   out);
    out += "#" + std::string(setting.name) + "=" + value_text(setting, defaults) + "\n";
  }
  return out;
}

}  // namespace thinwire
