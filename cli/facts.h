// Facts: what `thinwire doctor` knows of this host, collected once and judged by checks.h.
// Values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_table.h"
#include "base/nic_info.h"
#include "base/status.h"

namespace thinwire::cli {

// A shared library as the loader found it under `name`.
struct LibraryFacts {
  std::string name;
  std::string path;                 // "" when it could not be loaded
  std::string error;                // then the loader's reason
  std::string net_name;             // .name of its newest net table, "" when it has none
  std::vector<std::string> tables;  // NCCL's symbols it exports, newest first
};

struct NcclFacts {
  std::string path;  // "" when none was found
  int version = 0;   // as ncclGetVersion has it: 22809 is 2.28.9; 0 when unknown
};

struct HostFacts {
  std::uint64_t open_files = 0;  // soft RLIMIT_NOFILE
  std::string congestion;
  std::string available_congestion;        // separated by blanks
  std::int64_t tcp_receive_max_bytes = 0;  // tcp_rmem and tcp_wmem, third number
  std::int64_t tcp_send_max_bytes = 0;
  std::int64_t core_receive_max_bytes = 0;  // net.core.rmem_max and wmem_max
  std::int64_t core_send_max_bytes = 0;
};

struct TransportFacts {
  std::string name;
  bool chosen = true;  // by THINWIRE_TRANSPORT
  std::vector<NicInfo> devices;
  std::string error;  // why there are none
};

struct Facts {
  EnvironmentList environment;         // NCCL's configuration files included
  std::optional<ParsedConfig> config;  // none when it is invalid
  std::vector<std::string> unknown;    // a sentence per name that is nobody's setting
  bool has_places = true;              // the files of machine and cluster that it names are usable
  NcclFacts nccl;
  LibraryFacts plugin;                   // the library that was asked for or found
  std::vector<LibraryFacts> candidates;  // what NCCL will try, in its order
  HostFacts host;
  std::vector<TransportFacts> transports;
};

struct FactsOptions {
  std::string plugin;  // path or name; "": the loader's, else the one beside this program
  std::string nccl;    // path; "": the loader's, else one of a Python environment
};

// Loads libraries, reads /proc and sysfs. May block for as long as the loader does.
Facts collect_facts(const FactsOptions& options, const Log& log);

// `environment` and what /etc/nccl.conf and ~/.nccl.conf add to it, as NCCL does at start.
EnvironmentList with_nccl_files(EnvironmentList environment,
                                std::string_view system_file = "/etc/nccl.conf");

// "" when it is not set.
std::string value_of(const EnvironmentList& environment, std::string_view name);

// The file names under which NCCL `version` (0: the newest) looks for the plugin, in order.
std::vector<std::string> plugin_file_names(std::string_view net_plugin, int version);

// Loads and unloads `name`.
LibraryFacts inspect_library(const std::string& name);

// Devices of every transport under `config`.
std::vector<TransportFacts> probe_transports(const Config& config, const Log& log);

}  // namespace thinwire::cli
