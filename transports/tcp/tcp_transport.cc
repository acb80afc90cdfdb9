#include "transports/tcp/tcp_transport.h"

#include "base/device_list.h"
#include "transports/tcp/endpoint.h"

namespace thinwire::transports::tcp {

namespace {
constexpr const char* kSysfsRoot = "/sys";
}

TcpTransport::TcpTransport(const Config& config, const Log& log, const Clock& clock)
    : settings_(config, log, clock) {}

Status TcpTransport::find_devices() {
  const Config& config = settings_.config;
  InterfaceChoice choice =
      choose_interfaces(list_interfaces(kSysfsRoot), config.socket_ifname, config.socket_family);
  if (choice.chosen.empty()) {
    THINWIRE_WARN(settings_.log, "TCP: %s", choice.refusal.c_str());
    const bool by_user =
        !config.socket_ifname.empty() || config.socket_family != AddressFamily::any;
    if (!by_user) return {Code::system_error, "no network interface is up and has an address"};
    return {Code::invalid_config,
            "no network interface matches NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY"};
  }
  const DeviceList list(config.socket_ifname);
  for (const std::string& complaint : list.complaints()) {
    THINWIRE_WARN(settings_.log, "NCCL_SOCKET_IFNAME: %s", complaint.c_str());
  }
  for (ChosenInterface& chosen : choice.chosen) {
    Device device{std::move(chosen.interface), {}};
    device.nic = describe_nic(device.interface, kSysfsRoot);
    device.nic.ids = list.ids_of(device.nic.name, device.nic.port);
    device.nic.reason = std::move(chosen.reason);
    THINWIRE_INFO(settings_.log, "TCP device %zu: %s, %s, %d Mbit/s%s: %s", devices_.size(),
                  device.nic.name.c_str(), device.interface.addresses.front().text().c_str(),
                  device.nic.speed_mbps, text_of(device.nic.ids).c_str(),
                  device.nic.reason.c_str());
    devices_.push_back(std::move(device));
  }
  return {};
}

Result<std::vector<NicInfo>> TcpTransport::probe() {
  if (!probed_) {
    probed_ = true;
    probe_status_ = find_devices();
  }
  if (!probe_status_.ok()) return probe_status_;
  std::vector<NicInfo> nics;
  for (const Device& device : devices_) nics.push_back(device.nic);
  return nics;
}

Result<std::unique_ptr<Endpoint>> TcpTransport::open(int device) {
  const auto devices = probe();
  if (!devices.ok()) return devices.status();
  if (device < 0 || static_cast<std::size_t>(device) >= devices_.size()) {
    return Status(Code::invalid_argument, "no such TCP device", device);
  }
  auto endpoint =
      std::make_unique<TcpEndpoint>(settings_, devices_[static_cast<std::size_t>(device)]);
  if (!endpoint->is_valid()) return Status(Code::system_error, "cannot make an epoll descriptor");
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

}  // namespace thinwire::transports::tcp
