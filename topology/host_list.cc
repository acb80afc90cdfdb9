#include "topology/host_list.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace thinwire::topology {
namespace {

constexpr std::size_t kMaxDigits = 9;
constexpr std::size_t kMaxNameLength = 255;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 60)) + (text.size() > 60 ? "...'" : "'");
}

bool parse_number(std::string_view text, std::uint32_t& value) {
  if (text.empty() || text.size() > kMaxDigits) return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size();
}

// "3" or "08-12", as texts.
std::string expand_range(std::string_view range, std::vector<std::string>& out) {
  const std::size_t dash = range.find('-');
  const std::string_view first_text = range.substr(0, dash);
  const std::string_view last_text =
      dash == std::string_view::npos ? first_text : range.substr(dash + 1);
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  if (!parse_number(first_text, first) || !parse_number(last_text, last)) {
    return quoted(range) + " is neither a number nor a range such as 1-4";
  }
  if (last < first) return "the range " + quoted(range) + " runs backwards";
  if (last - first >= kMaxListedHosts - out.size()) {
    return "more than " + std::to_string(kMaxListedHosts) + " hosts";
  }
  for (std::uint32_t value = first; value <= last; ++value) {
    std::string digits = std::to_string(value);
    if (digits.size() < first_text.size()) {
      digits.insert(0, first_text.size() - digits.size(), '0');
    }
    out.push_back(std::move(digits));
  }
  return {};
}

std::string expand_bracket(std::string_view inside, std::vector<std::string>& out) {
  if (inside.empty()) return "empty brackets";
  std::size_t begin = 0;
  while (begin <= inside.size()) {
    const std::size_t comma = std::min(inside.find(',', begin), inside.size());
    std::string error = expand_range(inside.substr(begin, comma - begin), out);
    if (!error.empty()) return error;
    begin = comma + 1;
  }
  return {};
}

std::string multiply(std::vector<std::string>& names, const std::vector<std::string>& endings) {
  if (names.size() * endings.size() > kMaxListedHosts) {
    return "more than " + std::to_string(kMaxListedHosts) + " hosts";
  }
  // Before they are multiplied: 65,536 names of a megabyte each would not fit the memory.
  if (names.front().size() + endings.front().size() > kMaxNameLength) {
    return "a name of more than 255 characters";
  }
  std::vector<std::string> product;
  product.reserve(names.size() * endings.size());
  for (const std::string& name : names) {
    for (const std::string& ending : endings) product.push_back(name + ending);
  }
  names = std::move(product);
  return {};
}

// One item of the list, with any number of brackets.
std::string expand_item(std::string_view item, std::vector<std::string>& names) {
  if (item.empty()) return "an empty name";
  names = {""};
  for (std::size_t at = 0; at < item.size();) {
    std::vector<std::string> endings;
    std::string error;
    if (item[at] == '[') {
      const std::size_t close = item.find(']', at);
      if (close == std::string_view::npos) return "'[' without ']' in " + quoted(item);
      error = expand_bracket(item.substr(at + 1, close - at - 1), endings);
      at = close + 1;
    } else {
      const std::size_t end = std::min(item.find('[', at), item.size());
      const std::string_view plain = item.substr(at, end - at);
      if (!std::ranges::all_of(plain, is_name_character)) {
        return quoted(item) + " is no host name: letters, digits, '-', '_', '.' and [ranges]";
      }
      endings.emplace_back(plain);
      at = end;
    }
    if (error.empty()) error = multiply(names, endings);
    if (!error.empty()) return error;
  }
  return {};
}

// The end of the item that begins at `begin`: a comma outside brackets.
std::size_t item_end(std::string_view text, std::size_t begin) {
  bool inside = false;
  for (std::size_t at = begin; at < text.size(); ++at) {
    if (text[at] == '[') inside = true;
    if (text[at] == ']') inside = false;
    if (text[at] == ',' && !inside) return at;
  }
  return text.size();
}

}  // namespace

HostList expand_host_list(std::string_view text) {
  HostList list;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = item_end(text, begin);
    std::vector<std::string> names;
    list.error = expand_item(text.substr(begin, end - begin), names);
    if (list.error.empty() && list.names.size() + names.size() > kMaxListedHosts) {
      list.error = "more than " + std::to_string(kMaxListedHosts) + " hosts";
    }
    if (!list.error.empty()) {
      list.names.clear();
      return list;
    }
    list.names.insert(list.names.end(), names.begin(), names.end());
    begin = end + 1;
  }
  return list;
}

}  // namespace thinwire::topology
