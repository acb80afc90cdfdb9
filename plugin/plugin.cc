#include "plugin/plugin.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "collectives/tuning_file.h"
#include "compression/policy.h"
#include "plugin/counters.h"
#include "plugin/pending_connects.h"
#include "plugin/transports.h"
#include "topology/cluster_file.h"
#include "topology/discover.h"

namespace thinwire::plugin {

namespace {

// Heartbeats are answered by workers, so asking for them implies one.
int worker_threads(const Config& config) {
  return static_cast<int>(std::max<std::int64_t>(config.workers, config.heartbeat_s > 0 ? 1 : 0));
}

// Idle workers have nothing to do but heartbeats: four looks per interval.
std::int64_t worker_idle_us(const Config& config) {
  return std::max<std::int64_t>(config.heartbeat_s, 1) * 1'000'000 / 4;
}

}  // namespace

Plugin::Plugin(const Log& log, Config config, Merges& merges)
    : log_(log),
      config_(std::move(config)),
      merges_(merges),
      pending_connects_(new PendingConnects) {}

Plugin::~Plugin() = default;

Result<std::unique_ptr<Plugin>> Plugin::create(const Log& log, Merges& merges) {
  auto config = parse_config(process_environment(), log, compression::kSettingChecks);
  if (!config.ok()) return config.status();
  for (const std::string& rule : compression::idle_rules(config.value().compress)) {
    THINWIRE_WARN(log, "THINWIRE_COMPRESS: rule \"%s\" never applies: earlier rules match first",
                  rule.c_str());
  }
  std::unique_ptr<Plugin> plugin(new Plugin(log, std::move(config).value(), merges));
  plugin->transport_ = make_transport(plugin->config_, log, plugin->clock_);
  plugin->near_transport_ = make_near_transport(plugin->config_, log, plugin->clock_);
  if (const Status found = plugin->find_places(); !found.ok()) return found;
  if (const Status found = plugin->find_devices(); !found.ok()) return found;
  if (const Status started = plugin->start_workers(); !started.ok()) return started;
  return plugin;
}

Status Plugin::find_places() {
  auto cluster = topology::read_cluster_file(config_.cluster_file, log_);
  if (!cluster.ok()) return cluster.status();
  cluster_ = std::move(cluster).value();
  const auto costs =
      collectives::read_tuning_file(config_.tuning_file, "THINWIRE_TUNING_FILE", log_);
  if (!costs.ok()) return costs.status();
  costs_ = costs.value();
  topology::DiscoverOptions options;
  options.xml_file = config_.hwloc_xml;
  options.use_nvml = false;  // NCCL looks after NVLinks
  auto topology = topology::discover(options, log_);
  if (!topology.ok()) return topology.status();
  topology_ = std::move(topology).value();
  return {};
}

Status Plugin::start_workers() {
  std::vector<topology::CpuSet> cores;
  for (int dev = 0; dev <= devices_->last(); ++dev) cores.push_back(devices_->find(dev)->cores);
  const int threads = worker_threads(config_);
  workers_ = std::make_unique<Workers>(threads, worker_idle_us(config_), cores);
  const Status started = workers_->started();
  if (!started.ok()) {
    THINWIRE_WARN(log_, "THINWIRE_WORKERS: cannot start %d threads: %s", threads,
                  std::strerror(started.native()));
  }
  return started;
}

Status Plugin::find_devices() {
  auto found = transport_->probe();
  if (!found.ok()) {
    THINWIRE_WARN(log_, "no usable network device: %s", found.status().text());
    return found.status();
  }
  std::vector<Device> devices = place_devices(std::move(found).value(), topology_);
  for (const auto& [nic, transport_index, cores, members] : devices) {
    THINWIRE_INFO(log_, "device %s over %s: %d Mb/s, NUMA %d%s, %s", nic.name.c_str(),
                  std::string(transport_->name()).c_str(), nic.speed_mbps, nic.numa_node,
                  text_of(nic.ids).c_str(), nic.reason.c_str());
  }
  for (const std::string& line : gpu_lines(devices, topology_)) {
    THINWIRE_INFO(log_, "%s", line.c_str());
  }
  devices_ = std::make_unique<DeviceTable>(std::move(devices), *transport_, merges_, log_);
  return {};
}

Result<std::unique_ptr<transports::Endpoint>> Plugin::open(int device) {
  return devices_->open(device);
}

std::unique_ptr<transports::Endpoint> Plugin::open_near() {
  const std::lock_guard lock(near_mutex_);
  if (near_transport_ == nullptr) return nullptr;
  auto devices = near_transport_->probe();
  Status status = devices.status();
  if (status.ok()) {
    auto endpoint = near_transport_->open(0);
    if (endpoint.ok()) return std::move(endpoint).value();
    status = endpoint.status();
  }
  THINWIRE_WARN(log_, "no shared memory between the ranks of this host: %s", status.text());
  return nullptr;
}

void Plugin::add_source(const void* owner, CounterSource counters) {
  const std::lock_guard lock(sources_mutex_);
  sources_.emplace(owner, std::move(counters));
}

void Plugin::remove_source(const void* owner) {
  const std::lock_guard lock(sources_mutex_);
  const auto found = sources_.find(owner);
  if (found == sources_.end()) return;
  retired_ += found->second();
  sources_.erase(found);
}

transports::Counters Plugin::counters() {
  const std::lock_guard lock(sources_mutex_);
  transports::Counters sum = retired_;
  for (const auto& [owner, source] : sources_) sum += source();
  return sum;
}

}  // namespace thinwire::plugin
