// Setting: one row of the table of settings (config_table.h). Values; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/config.h"

namespace thinwire {

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;
inline constexpr std::int64_t kGiB = 1024 * kMiB;

enum class Unit : std::uint8_t { none, bytes, seconds };

using SettingField =
    std::variant<std::int64_t Config::*, std::string Config::*, FeedbackChoice Config::*,
                 IdentityChoice Config::*, ScheduleChoice Config::*, TransportChoice Config::*,
                 ShmChoice Config::*, ChecksumChoice Config::*, AddressFamily Config::*,
                 GridShape Config::*>;

struct Setting {
  std::string_view section;
  std::string_view name;
  SettingField field;
  std::int64_t minimum = 0;  // of an integer, in `unit`
  std::int64_t maximum = 0;
  bool zero_too = false;  // 0 is accepted below the minimum
  Unit unit = Unit::none;
  std::span<const std::string_view> choices = {};  // of an enumeration, in the order of its values
  bool agreed = false;                             // must be equal on all ranks
  std::string_view help;
};

}  // namespace thinwire
