#include "transports/verbs/hca_filter.h"

#include <algorithm>
#include <charconv>

namespace thinwire::transports::verbs {

HcaFilter::HcaFilter(std::string_view text) {
  exclude_ = text.starts_with('^');
  if (exclude_) text.remove_prefix(1);
  exact_ = text.starts_with('=');
  if (exact_) text.remove_prefix(1);
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    if (item.empty()) continue;
    const std::size_t colon = item.find(':');
    Item& parsed = items_.emplace_back();
    parsed.name = item.substr(0, colon);
    if (colon == std::string_view::npos) continue;
    const std::string_view port = item.substr(colon + 1);
    std::from_chars(port.data(), port.data() + port.size(), parsed.port);
  }
}

bool HcaFilter::admits(std::string_view device, int port) const {
  if (items_.empty()) return true;
  const bool named = std::ranges::any_of(items_, [&](const Item& item) {
    if (item.port != 0 && item.port != port) return false;
    return exact_ ? device == item.name : device.starts_with(item.name);
  });
  return named != exclude_;
}

}  // namespace thinwire::transports::verbs
