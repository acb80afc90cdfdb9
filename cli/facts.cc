#include "cli/facts.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/libraries.h"
#include "collectives/tuning_file.h"
#include "compression/policy.h"
#include "topology/cluster_file.h"
#include "topology/discover.h"

namespace thinwire::cli {
namespace {

constexpr const char* kLibraryName = "libnccl-net-thinwire.so";
constexpr int kMaxListedPlugins = 14;

std::string first_line(const std::string& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

// The last number of a line such as "4096 131072 6291456"; 0 when there is none.
std::int64_t last_number(const std::string& line) {
  std::istringstream words(line);
  std::int64_t value = 0;
  while (words >> value) {
  }
  return value;
}

HostFacts collect_host() {
  HostFacts host;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) host.open_files = limit.rlim_cur;
  const std::string ipv4 = "/proc/sys/net/ipv4/";
  const std::string core = "/proc/sys/net/core/";
  host.congestion = first_line(ipv4 + "tcp_congestion_control");
  host.available_congestion = first_line(ipv4 + "tcp_available_congestion_control");
  host.tcp_receive_max_bytes = last_number(first_line(ipv4 + "tcp_rmem"));
  host.tcp_send_max_bytes = last_number(first_line(ipv4 + "tcp_wmem"));
  host.core_receive_max_bytes = last_number(first_line(core + "rmem_max"));
  host.core_send_max_bytes = last_number(first_line(core + "wmem_max"));
  return host;
}

std::string beside_this_program() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return kLibraryName;
  return (program.parent_path().parent_path() / "lib" / kLibraryName).string();
}

LibraryFacts find_plugin(const std::string& asked) {
  if (!asked.empty()) return inspect_library(asked);
  LibraryFacts installed = inspect_library(kLibraryName);
  if (!installed.path.empty()) return installed;
  LibraryFacts built = inspect_library(beside_this_program());
  return built.path.empty() ? installed : built;
}

void append_file(const std::string& path, EnvironmentList& environment) {
  std::ifstream stream(path);
  std::string line;
  while (std::getline(stream, line)) {
    const std::size_t equals = line.find('=');
    if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
    environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
}

}  // namespace

std::string value_of(const EnvironmentList& environment, std::string_view name) {
  for (const auto& [key, value] : environment) {
    if (key == name) return value;
  }
  return "";
}

EnvironmentList with_nccl_files(EnvironmentList environment, std::string_view system_file) {
  std::string own = value_of(environment, "NCCL_CONF_FILE");
  if (own.empty()) own = value_of(environment, "HOME") + "/.nccl.conf";
  append_file(own, environment);
  append_file(std::string(system_file), environment);
  return environment;
}

std::vector<std::string> plugin_file_names(std::string_view net_plugin, int version) {
  const bool newest = version == 0;
  if (net_plugin.empty()) return {"libnccl-net.so"};
  if (net_plugin == "none" && (newest || version >= 22800)) return {};
  if (!newest && version < 22100) return {"libnccl-net-" + std::string(net_plugin) + ".so"};

  std::vector<std::string> names;
  const bool lists = newest || version >= 22700;
  std::istringstream items{std::string(net_plugin)};
  std::string item;
  for (int i = 0; i < kMaxListedPlugins && std::getline(items, item, lists ? ',' : '\0'); ++i) {
    names.push_back(item);
    names.push_back("libnccl-net-" + item + ".so");
  }
  return names;
}

namespace {

// As the library does at its first init.
bool can_read_places(const Config& config, const Log& log) {
  topology::DiscoverOptions options;
  options.xml_file = config.hwloc_xml;
  options.use_nvml = false;
  return topology::read_cluster_file(config.cluster_file, log).ok() &&
         collectives::read_tuning_file(config.tuning_file, "THINWIRE_TUNING_FILE", log).ok() &&
         topology::discover(options, log).ok();
}

}  // namespace

Facts collect_facts(const FactsOptions& options, const Log& log) {
  Facts facts;
  facts.environment = with_nccl_files(process_environment());
  ParsedConfig parsed =
      read_config_sources(facts.environment, log, kSystemConfigFile, compression::kSettingChecks);
  facts.unknown = parsed.unknown;
  if (parsed.status.ok()) facts.config = std::move(parsed);
  facts.has_places = !facts.config || can_read_places(facts.config->config, log);
  facts.nccl = find_nccl(options.nccl, facts.environment);
  facts.plugin = find_plugin(options.plugin);
  const std::string choice = value_of(facts.environment, "NCCL_NET_PLUGIN");
  for (const std::string& name : plugin_file_names(choice, facts.nccl.version)) {
    facts.candidates.push_back(inspect_library(name));
  }
  facts.host = collect_host();
  facts.transports = probe_transports(facts.config ? facts.config->config : Config{}, log);
  return facts;
}

}  // namespace thinwire::cli
