// PluginLibrary: a loaded NCCL net plugin with its newest tables, found as NCCL finds it.
// Owner: one per rank process; one thread. The adapters die before the library is closed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "perf/plugin_api.h"

namespace thinwire::perf {

inline constexpr int kNewestInterface = 12;
inline constexpr int kOldestInterface = 6;

class PluginLibrary {
 public:
  // Loads `wanted` (a path, or a name as NCCL_NET_PLUGIN takes it). Where it is empty: the plugin
  // in ../lib next to the program, then `from_environment` (NCCL_NET_PLUGIN), then
  // libnccl-net-thinwire.so on the library path. Throws Failure: runtime_error if nothing loads or
  // it has no net table of version 6 to `newest`.
  PluginLibrary(const std::string& wanted, const std::string& from_environment, int newest);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const std::string& path() const { return path_; }
  NetApi& net() { return *net_; }
  CollNetApi* collnet() { return collnet_.get(); }  // null where the library has none

  // The bytes that the plugin says it has put on the wire; nullopt where it does not count.
  std::optional<std::uint64_t> bytes_sent() const;

 private:
  std::string path_;
  void* handle_ = nullptr;
  std::unique_ptr<NetApi> net_;
  std::unique_ptr<CollNetApi> collnet_;
};

// Prints the plugin's warnings to stderr, with the process id; the second everything it logs.
tw_nccl_logger_t warning_logger();
tw_nccl_logger_t verbose_logger();

}  // namespace thinwire::perf
