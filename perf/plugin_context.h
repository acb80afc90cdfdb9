// PluginContext: the loaded plugin of one rank, initialised, with its device chosen; what the net
// and CollNet runners are built on. Owner: the program; one thread.
#pragma once

#include <memory>
#include <optional>

#include "perf/net_link.h"
#include "perf/options.h"
#include "perf/plugin_library.h"
#include "perf/session.h"
#include "perf/watch.h"

namespace thinwire::perf {

// What NCCL's environment says that concerns us.
struct PluginEnvironment {
  std::string net_plugin;  // NCCL_NET_PLUGIN
  bool verbose = false;    // NCCL_DEBUG is INFO or TRACE
};

class PluginContext {
 public:
  // Loads and initialises as NCCL does: net first, then CollNet where `want_collnet`. Collective
  // over the session: fails on all ranks or on none.
  PluginContext(const Options& options, const PluginEnvironment& environment, Session& session,
                Watch& watch, bool want_collnet);
  ~PluginContext();  // finalizes, unloads

  NetApi& net() { return library_->net(); }
  // Null where the plugin has none, it finds no device, or it was not wanted.
  CollNetApi* collnet() { return collnet_ready_ ? library_->collnet() : nullptr; }
  const std::string& path() const { return library_->path(); }
  std::optional<std::uint64_t> bytes_sent() const { return library_->bytes_sent(); }

  Session& session;
  Watch& watch;

 private:
  std::unique_ptr<PluginLibrary> library_;
  bool net_ready_ = false;
  bool collnet_ready_ = false;
};

}  // namespace thinwire::perf
