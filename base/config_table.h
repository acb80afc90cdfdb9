// The one table of settings: what each is called, what it accepts, what it means. Its rows are in
// settings_collectives.h, settings_network.h and settings_nccl.h.
//
// Drives parsing (config.cc), the agreement between ranks, `thinwire info`, /etc/thinwire.conf and
// docs/configuration.md. Defaults are Config's member initialisers. Values; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/config.h"
#include "base/setting.h"
#include "base/settings_collectives.h"
#include "base/settings_nccl.h"
#include "base/settings_network.h"
#include "base/status.h"

namespace thinwire {

inline constexpr std::string_view kConfigFileVariable = "THINWIRE_CONF";
inline constexpr std::string_view kSystemConfigFile = "/etc/thinwire.conf";

namespace detail {
template <std::size_t n, std::size_t m>
constexpr std::array<Setting, n + m> joined(const std::array<Setting, n>& first,
                                            const std::array<Setting, m>& second) {
  std::array<Setting, n + m> all{};
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}
}  // namespace detail

inline constexpr auto kSettings =
    detail::joined(detail::joined(kCollectiveSettings, kNetworkSettings), kNcclSettings);

// A variable of NCCL's, of which NCCL ignores invalid values: they are warned about, no error.
constexpr bool belongs_to_nccl(const Setting& setting) { return setting.name.starts_with("NCCL_"); }

// Null when there is no such setting.
const Setting* find_setting(std::string_view name);

// Writes `text` into `config`; false, with `config` untouched, when it is not acceptable. An empty
// text means the default.
bool assign(const Setting& setting, std::string_view text, Config& config);

// The value as one would write it: "int8", "131072".
std::string value_text(const Setting& setting, const Config& config);

// What is accepted: "one of none, fp16, int8", "4096 to 16777216 bytes, suffix K, M or G allowed".
std::string accepted_text(const Setting& setting);

struct ParsedConfig {
  Config config;
  std::array<std::string, kSettings.size()> sources;  // "environment", "FILE:LINE", "default"
  std::vector<std::string> unknown;  // a sentence per name that is nobody's setting
  Status status;                     // the first invalid value's; those keep their defaults
};

// What parse_config() reads, for people to look at, also when some of it is invalid.
ParsedConfig read_config_sources(const EnvironmentList& environment, const Log& log,
                                 std::string_view system_file = kSystemConfigFile,
                                 std::span<const TextCheck> checks = {});

// parse_config() that also says where each value came from.
Result<ParsedConfig> parse_config_sources(const EnvironmentList& environment, const Log& log,
                                          std::string_view system_file = kSystemConfigFile,
                                          std::span<const TextCheck> checks = {});

// docs/configuration.md, and /etc/thinwire.conf with every key commented out.
std::string configuration_markdown();
std::string configuration_file();

}  // namespace thinwire
