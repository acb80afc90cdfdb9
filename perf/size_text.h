// Sizes as users write them: "8", "64K", "1.5M", "2G" (powers of 1024). Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace thinwire::perf {

// The largest size the programs accept: 1 TiB.
inline constexpr std::size_t kMaxBytes = std::size_t{1} << 40;

// nullopt where `text` is not a size from 0 to kMaxBytes; fractions of a byte are cut off.
std::optional<std::size_t> parse_size(std::string_view text);

// "64M" for 67108864; plain digits where no unit divides it.
std::string size_text(std::size_t bytes);

}  // namespace thinwire::perf
