#include "cli/libraries.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <array>
#include <memory>

#include "cli/facts.h"

namespace thinwire::cli {
namespace {

constexpr int kNewestTable = 12;
constexpr int kOldestTable = 6;

struct Unload {
  void operator()(void* handle) const { dlclose(handle); }
};
using Handle = std::unique_ptr<void, Unload>;

Handle load(const std::string& name) { return Handle(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)); }

std::string path_of(const Handle& handle, const std::string& fallback) {
  link_map* map = nullptr;
  if (dlinfo(handle.get(), RTLD_DI_LINKMAP, &map) != 0 || map->l_name[0] == '\0') return fallback;
  return map->l_name;
}

void find_tables(const Handle& handle, LibraryFacts& facts) {
  for (const char* kind : {"ncclNetPlugin_v", "ncclCollNetPlugin_v"}) {
    for (int version = kNewestTable; version >= kOldestTable; --version) {
      const std::string symbol = kind + std::to_string(version);
      void* table = dlsym(handle.get(), symbol.c_str());
      if (table == nullptr) continue;
      // Every version's table begins with the name.
      if (facts.net_name.empty()) facts.net_name = *static_cast<const char* const*>(table);
      facts.tables.push_back(symbol);
    }
  }
}

std::vector<std::string> python_environments(const EnvironmentList& environment) {
  std::vector<std::string> roots;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string root = value_of(environment, name);
    if (!root.empty()) roots.push_back(root);
  }
  roots.insert(roots.end(), {"/usr/local", "/usr", "/opt/conda"});
  return roots;
}

std::vector<std::string> matching_files(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

std::optional<NcclFacts> inspect_nccl(const std::string& name) {
  const Handle handle = load(name);
  if (handle == nullptr) return std::nullopt;
  NcclFacts facts{.path = path_of(handle, name)};
  using GetVersion = int (*)(int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(handle.get(), "ncclGetVersion"));
  if (get_version == nullptr || get_version(&facts.version) != 0) facts.version = 0;
  return facts;
}

}  // namespace

LibraryFacts inspect_library(const std::string& name) {
  LibraryFacts facts;
  facts.name = name;
  const Handle handle = load(name);
  if (handle == nullptr) {
    const char* reason = dlerror();
    facts.error = reason == nullptr ? "unknown" : reason;
    return facts;
  }
  facts.path = path_of(handle, name);
  find_tables(handle, facts);
  return facts;
}

NcclFacts find_nccl(const std::string& asked, const EnvironmentList& environment) {
  std::vector<std::string> names{asked.empty() ? "libnccl.so.2" : asked};
  if (asked.empty()) {
    for (const std::string& root : python_environments(environment)) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (std::string& path :
             matching_files(root + "/lib/python3*/" + packages + "/nvidia/nccl/lib/libnccl.so.2")) {
          names.push_back(std::move(path));
        }
      }
    }
  }
  for (const std::string& name : names) {
    if (auto facts = inspect_nccl(name)) return *facts;
  }
  return {};
}

}  // namespace thinwire::cli
