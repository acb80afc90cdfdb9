#include <unistd.h>

#include <string_view>

#include "base/config.h"

namespace thinwire {

EnvironmentList process_environment() {
  EnvironmentList list;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    list.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return list;
}

}  // namespace thinwire
