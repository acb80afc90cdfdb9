// RDMA devices as libibverbs and sysfs show them, and one of them opened.
// Owner: a Context its Endpoint, the list VerbsTransport; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/nic_info.h"
#include "base/status.h"
#include "transports/verbs/gid.h"
#include "transports/verbs/settings.h"

namespace thinwire::transports::verbs {

// A port with a link.
struct Device {
  std::string hca;
  int port = 1;
  NicInfo nic;
  unsigned interface = 0;  // of the network device below it; 0: none
  bool ethernet = false;   // RoCE, else InfiniBand
};

// The active ports that NCCL_IB_HCA admits, in the library's order. `sysfs_root` is "/sys" but in
// tests. Code::system_error: there are none, with what there is at INFO.
Result<std::vector<Device>> find_devices(const Settings& settings, const std::string& sysfs_root);

// An open device: context, protection domain, completion channel, and what its port is.
class Context {
 public:
  static Result<std::unique_ptr<Context>> open(const Settings& settings, const Device& device);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Settings& settings() const { return settings_; }
  const Api& api() const { return settings_.api; }
  const std::string& name() const { return name_; }
  ibv_context* native() const { return native_; }
  ibv_pd* domain() const { return domain_; }
  ibv_comp_channel* channel() const { return channel_; }
  const ibv_device_attr& limits() const { return limits_; }
  const ibv_port_attr& port() const { return port_; }
  std::uint8_t port_number() const { return port_number_; }
  const ChosenGid& gid() const { return gid_; }
  bool is_ethernet() const { return port_.link_layer == IBV_LINK_LAYER_ETHERNET; }

  // What the port's link carries, in Mb/s; 0 where the port does not say.
  int speed() const;

  // Whether the port is active, as far as the device told; never again once the device failed.
  bool is_up() const { return up_ && !dead_; }
  bool is_dead() const { return dead_; }
  // Takes what the device reports beside completions, and logs it.
  void take_events();
  // Reads port and GID again: they change when a link flaps.
  void look_at_port();
  // The completion channel had something; never blocks.
  void drain_channel() const;

 private:
  Context(const Settings& settings, const Device& device)
      : settings_(settings),
        name_(device.nic.name),
        port_number_(static_cast<std::uint8_t>(device.port)) {}
  Status open_device(const std::string& hca);
  Status refresh();
  void take_event(const ibv_async_event& event);
  Status make_parts();

  const Settings& settings_;
  const std::string name_;
  const std::uint8_t port_number_;
  ibv_context* native_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_device_attr limits_{};
  ibv_port_attr port_{};
  ChosenGid gid_;
  bool up_ = true;
  bool dead_ = false;
};

// The members of one Endpoint, 1..kMaxMergedDevices, of one link layer.
using Contexts = std::vector<std::unique_ptr<Context>>;
// A bit for each one that is up.
std::uint16_t ports_up(const Contexts& contexts);

}  // namespace thinwire::transports::verbs
