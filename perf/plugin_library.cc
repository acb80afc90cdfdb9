#include "perf/plugin_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "include/thinwire.h"
#include "perf/failure.h"

namespace thinwire::perf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnName = "libnccl-net-thinwire.so";

// What NCCL 2.21 and later try for a name, in order.
std::vector<std::string> candidates_of(const std::string& name) {
  if (name.find('/') != std::string::npos) return {name};
  return {name, "libnccl-net-" + name + ".so"};
}

std::vector<std::string> candidates(const std::string& wanted, const std::string& environment) {
  if (!wanted.empty()) return candidates_of(wanted);
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path own = program.parent_path().parent_path() / "lib" / kOwnName;
  if (!error && fs::exists(own, error)) return {own.string()};
  const std::string first = environment.substr(0, environment.find(','));
  if (!first.empty() && first != "none") return candidates_of(first);
  return {kOwnName};
}

void* table_of(void* library, const char* prefix, int version) {
  return dlsym(library, (std::string(prefix) + std::to_string(version)).c_str());
}

void print_log(bool everything, tw_nccl_log_level_t level, const char* format, va_list arguments) {
  if (!everything && level != tw_nccl_log_warn) return;
  char line[1024];
  std::vsnprintf(line, sizeof line, format, arguments);
  const char* kind = level == tw_nccl_log_warn ? "WARN" : "INFO";
  std::fprintf(stderr, "# [%d] plugin %s %s\n", static_cast<int>(getpid()), kind, line);
}

template <bool kEverything>
void log_line(tw_nccl_log_level_t level, unsigned long, const char*, int, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_log(kEverything, level, format, arguments);
  va_end(arguments);
}

}  // namespace

PluginLibrary::PluginLibrary(const std::string& wanted, const std::string& from_environment,
                             int newest) {
  std::string reasons;
  for (const std::string& candidate : candidates(wanted, from_environment)) {
    handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      path_ = candidate;
      break;
    }
    const char* reason = dlerror();
    reasons += std::string("\n  ") + (reason != nullptr ? reason : candidate.c_str());
  }
  if (handle_ == nullptr) {
    throw Failure(ExitCode::usage,
                  "no NCCL net plugin could be loaded (--plugin PATH names one):" + reasons);
  }
  for (int version = newest; version >= kOldestInterface; --version) {
    void* net = table_of(handle_, "ncclNetPlugin_v", version);
    if (net != nullptr && !net_) net_ = make_net_api(version, net);
    void* collnet = table_of(handle_, "ncclCollNetPlugin_v", version);
    if (collnet != nullptr && !collnet_) collnet_ = make_collnet_api(version, collnet);
  }
  if (!net_) {
    collnet_.reset();
    dlclose(handle_);
    throw Failure(ExitCode::usage,
                  path_ + " is no NCCL net plugin: it exports none of ncclNetPlugin_v6 .. _v" +
                      std::to_string(newest));
  }
}

PluginLibrary::~PluginLibrary() {
  collnet_.reset();
  net_.reset();
  dlclose(handle_);
}

std::optional<std::uint64_t> PluginLibrary::bytes_sent() const {
  const auto read =
      reinterpret_cast<thinwire_counters_v1_fn>(dlsym(handle_, "thinwireCounters_v1"));
  if (read == nullptr) return std::nullopt;
  thinwire_counters_v1_t counters{};
  counters.size = sizeof counters;
  if (read(&counters) != 0) return std::nullopt;
  return counters.bytes_sent;
}

tw_nccl_logger_t warning_logger() { return &log_line<false>; }
tw_nccl_logger_t verbose_logger() { return &log_line<true>; }

}  // namespace thinwire::perf
