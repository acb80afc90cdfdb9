// Plugin: the composition root. Builds configuration, clock, transport and workers; owns them.
// Owner: Process, from the first init to the last finalize. Immutable but for the counters.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/nic_info.h"
#include "base/status.h"
#include "collectives/cost_constants.h"
#include "plugin/device_table.h"
#include "plugin/workers.h"
#include "topology/cluster_view.h"
#include "topology/topology.h"
#include "transports/transport.h"

namespace thinwire::plugin {

class PendingConnects;

class Plugin {
 public:
  // Reads the configuration, the machine and the cluster file, finds the devices and logs which and
  // why. Fails with Code::invalid_config or Code::system_error (no device), logged. `log` outlives
  // the Plugin.
  // `merges` outlives it too: the devices that NCCL has made before are made again.
  static Result<std::unique_ptr<Plugin>> create(const Log& log, Merges& merges);
  ~Plugin();

  const Config& config() const { return config_; }
  const Log& log() const { return log_; }
  const Clock& clock() const { return clock_; }
  DeviceTable& devices() const { return *devices_; }
  const topology::Topology& topology() const { return topology_; }
  const collectives::CostConstants& costs() const { return costs_; }
  const topology::ClusterView& cluster() const { return cluster_; }  // this rank's own file
  // An Endpoint of the transport over one of devices().
  Result<std::unique_ptr<transports::Endpoint>> open(int device);
  // An Endpoint for links within this host; null, and a warning, where there is none to be had.
  std::unique_ptr<transports::Endpoint> open_near();
  Workers& workers() { return *workers_; }
  PendingConnects& pending_connects() { return *pending_connects_; }

  // Whoever holds an Endpoint says what it has moved: summed while it lives, remembered after.
  // `counters` synchronises itself.
  using CounterSource = std::function<transports::Counters()>;
  void add_source(const void* owner, CounterSource counters);
  void remove_source(const void* owner);
  transports::Counters counters();

 private:
  Plugin(const Log& log, Config config, Merges& merges);
  Status find_places();
  Status find_devices();
  Status start_workers();

  const Log& log_;
  Config config_;
  SteadyClock clock_;
  std::unique_ptr<transports::Transport> transport_;
  std::mutex near_mutex_;
  std::unique_ptr<transports::Transport> near_transport_;  // null: switched off
  topology::Topology topology_;
  topology::ClusterView cluster_;
  Merges& merges_;
  std::unique_ptr<DeviceTable> devices_;
  collectives::CostConstants costs_;
  std::unique_ptr<Workers> workers_;
  std::mutex sources_mutex_;
  std::map<const void*, CounterSource> sources_;
  transports::Counters retired_;
  std::unique_ptr<PendingConnects> pending_connects_;  // last: its objects use all of the above
};

}  // namespace thinwire::plugin
