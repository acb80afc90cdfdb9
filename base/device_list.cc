#include "base/device_list.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace thinwire {

namespace {

// Of a port of none: what NCCL makes of a word that is no number.
constexpr int kNoPort = 0;
constexpr int kMaxPort = 255;

struct Field {
  const char* what;
  int minimum;
  int maximum;
  int otherwise;  // where the number cannot be used
};
constexpr std::array<Field, 3> kFields{{{"port", 1, kMaxPort, kNoPort},
                                        {"rail", 0, kMaxRail, kUndefinedId},
                                        {"plane", 0, kMaxPlane, kUndefinedId}}};

std::string_view take_until(char separator, std::string_view& text) {
  const std::string_view taken = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

int parse(const Field& field, std::string_view word, std::string_view item,
          std::vector<std::string>& complaints) {
  if (word.empty() || word == "-1") return kUndefinedId;
  int value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error == std::errc() && stop == end && value >= field.minimum && value <= field.maximum) {
    return value;
  }
  complaints.push_back("the " + std::string(field.what) + " " + std::string(word) + " of " +
                       std::string(item) + " is ignored: it must be " +
                       std::to_string(field.minimum) + " to " + std::to_string(field.maximum) +
                       ", or empty");
  return field.otherwise;
}

}  // namespace

DeviceList::DeviceList(std::string_view text) {
  exclude_ = text.starts_with('^');
  if (exclude_) text.remove_prefix(1);
  exact_ = text.starts_with('=');
  if (exact_) text.remove_prefix(1);
  while (!text.empty()) add(take_until(',', text));
}

void DeviceList::add(std::string_view item) {
  std::string_view rest = item;
  const std::string_view name = take_until(':', rest);
  if (name.empty()) return;
  std::array<int, kFields.size()> values{};
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    values[i] = parse(kFields[i], take_until(':', rest), item, complaints_);
  }
  if (!rest.empty()) {
    complaints_.push_back("\"" + std::string(rest) + "\" at the end of " + std::string(item) +
                          " is ignored: it must be name:port:rail:plane");
  }
  items_.push_back({std::string(name), values[0], {values[1], values[2]}});
}

const DeviceList::Item* DeviceList::find(std::string_view device, int port) const {
  const auto at = std::ranges::find_if(items_, [&](const Item& item) {
    if (port != 0 && item.port != kUndefinedId && item.port != port) return false;
    return exact_ ? device == item.name : device.starts_with(item.name);
  });
  return at == items_.end() ? nullptr : &*at;
}

bool DeviceList::admits(std::string_view device, int port) const {
  return empty() || (find(device, port) != nullptr) != exclude_;
}

RailIds DeviceList::ids_of(std::string_view device, int port) const {
  const Item* item = exclude_ ? nullptr : find(device, port);
  return item == nullptr ? RailIds{} : item->ids;
}

}  // namespace thinwire
