#include <cstdio>

#include "cli/commands.h"
#include "compression/policy.h"
#include "compression/simd.h"

namespace thinwire::cli {
namespace {

void print_build() {
  std::printf("thinwire %s, %s build, compiler %s\n", THINWIRE_VERSION, THINWIRE_BUILD_TYPE,
              __VERSION__);
  std::string targets;
  for (const compression::SimdTarget target : compression::supported_targets()) {
    targets += " " + std::string(compression::name_of(target));
  }
  std::printf("SIMD targets:%s (in use: %s)\n", targets.c_str(),
              std::string(compression::name_of(compression::current_target())).c_str());
}

void print_transports(const std::vector<TransportFacts>& transports) {
  for (const TransportFacts& transport : transports) {
    if (transport.devices.empty()) {
      std::printf("%s: no device: %s\n", transport.name.c_str(), transport.error.c_str());
    }
    for (const NicInfo& nic : transport.devices) {
      std::printf("%s: %s, %d Mbit/s, %s%s%s%s\n", transport.name.c_str(), nic.name.c_str(),
                  nic.speed_mbps, nic.pci_path.empty() ? "no PCI device" : nic.pci_path.c_str(),
                  text_of(nic.ids).c_str(), nic.reason.empty() ? "" : ": ", nic.reason.c_str());
    }
  }
}

void print_settings(const ParsedConfig& parsed) {
  const Config defaults;
  std::printf("%-34s %-16s %-16s %s\n", "setting", "value", "default", "source");
  for (std::size_t row = 0; row < kSettings.size(); ++row) {
    const Setting& setting = kSettings[row];
    std::printf("%-34s %-16s %-16s %s\n", std::string(setting.name).c_str(),
                value_text(setting, parsed.config).c_str(), value_text(setting, defaults).c_str(),
                parsed.sources[row].c_str());
  }
}

}  // namespace

int show_info(const Log& log) {
  print_build();
  const ParsedConfig parsed = read_config_sources(with_nccl_files(process_environment()), log,
                                                  kSystemConfigFile, compression::kSettingChecks);
  print_transports(probe_transports(parsed.config, log));
  print_settings(parsed);
  if (parsed.status.ok()) return 0;
  std::printf("settings: invalid: %s; communicators will not start\n", parsed.status.text());
  return 1;
}

int show_settings(const Log& log) {
  const auto parsed =
      parse_config(with_nccl_files(process_environment()), log, compression::kSettingChecks);
  if (!parsed.ok()) return 1;
  for (const Setting& setting : kSettings) {
    std::printf("%s=%s\n", std::string(setting.name).c_str(),
                value_text(setting, parsed.value()).c_str());
  }
  return 0;
}

}  // namespace thinwire::cli
