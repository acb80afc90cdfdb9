// Plugin: the composition root. Builds configuration, clock, transport and workers; owns them.
// Owner: Process, from the first init to the last finalize. Immutable but for the counters.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/nic_info.h"
#include "base/status.h"
#include "plugin/workers.h"
#include "transports/transport.h"

namespace thinwire::plugin {

// Whoever holds an Endpoint and can say what it has moved so far.
class CounterSource {
 public:
  virtual ~CounterSource() = default;
  virtual transports::Counters counters() = 0;
};

class PendingConnects;

class Plugin {
 public:
  // Reads the configuration, finds the devices and logs which and why. Fails with
  // Code::invalid_config or Code::system_error (no device), logged. `log` outlives the Plugin.
  static Result<std::unique_ptr<Plugin>> create(const Log& log);
  ~Plugin();

  const Config& config() const { return config_; }
  const Log& log() const { return log_; }
  const Clock& clock() const { return clock_; }
  std::span<const NicInfo> devices() const { return devices_; }
  transports::Transport& transport() { return *transport_; }
  Workers& workers() { return *workers_; }
  PendingConnects& pending_connects() { return *pending_connects_; }

  // Counter sources are summed while they live and remembered after.
  void add_source(CounterSource* source);
  void remove_source(CounterSource* source);
  transports::Counters counters();

 private:
  Plugin(const Log& log, Config config);
  Status find_devices();

  const Log& log_;
  Config config_;
  SteadyClock clock_;
  std::unique_ptr<transports::Transport> transport_;
  std::vector<NicInfo> devices_;
  std::unique_ptr<Workers> workers_;
  std::mutex sources_mutex_;
  std::set<CounterSource*> sources_;
  transports::Counters retired_;
  std::unique_ptr<PendingConnects> pending_connects_;  // last: its objects use all of the above
};

}  // namespace thinwire::plugin
