#include "transports/verbs/verbs_transport.h"

#include <net/if.h>

#include <array>
#include <optional>
#include <string>

#include "transports/verbs/endpoint.h"

namespace thinwire::transports::verbs {

namespace {

// The control device that stands on the same network interface as the port, else on the same PCI
// device, else the first.
int control_for(const Device& device, const std::vector<NicInfo>& controls) {
  std::array<char, IF_NAMESIZE> name{};
  const bool named =
      device.interface != 0 && ::if_indextoname(device.interface, name.data()) != nullptr;
  for (std::size_t i = 0; named && i < controls.size(); ++i) {
    if (controls[i].name == name.data()) return static_cast<int>(i);
  }
  for (std::size_t i = 0; !device.nic.pci_path.empty() && i < controls.size(); ++i) {
    if (controls[i].pci_path == device.nic.pci_path) return static_cast<int>(i);
  }
  return 0;
}

}  // namespace

struct VerbsTransport::State {
  Status find();

  const Config config;
  const Log& log;
  const Clock& clock;
  Transport& control;
  std::unique_ptr<Api> api;
  const std::string sysfs_root;
  bool probed = false;
  Status probe_status;
  std::optional<Settings> settings;
  std::vector<Device> devices;
  std::vector<NicInfo> controls;
};

VerbsTransport::VerbsTransport(const Config& config, const Log& log, const Clock& clock,
                               Transport& control)
    : VerbsTransport(config, log, clock, control, nullptr, "/sys") {}

VerbsTransport::VerbsTransport(const Config& config, const Log& log, const Clock& clock,
                               Transport& control, std::unique_ptr<Api> api,
                               std::string_view sysfs_root)
    : state_(new State{config,
                       log,
                       clock,
                       control,
                       std::move(api),
                       std::string(sysfs_root),
                       false,
                       {},
                       {},
                       {},
                       {}}) {}

VerbsTransport::~VerbsTransport() = default;

Status VerbsTransport::State::find() {
  if (!api) {
    auto loaded = load_api(log);
    if (!loaded.ok()) return loaded.status();
    api = std::move(loaded).value();
  }
  settings.emplace(Settings{config, log, clock, *api});
  auto found = find_devices(*settings, sysfs_root);
  if (!found.ok()) return found.status();
  const auto nics = control.probe();
  if (!nics.ok()) return nics.status();
  devices = std::move(found).value();
  controls = nics.value();
  return {};
}

Result<std::vector<NicInfo>> VerbsTransport::probe() {
  if (!state_->probed) {
    state_->probed = true;
    state_->probe_status = state_->find();
  }
  if (!state_->probe_status.ok()) return state_->probe_status;
  std::vector<NicInfo> nics;
  for (const Device& device : state_->devices) nics.push_back(device.nic);
  return nics;
}

Result<std::unique_ptr<Endpoint>> VerbsTransport::open(int device) {
  const auto devices = probe();
  if (!devices.ok()) return devices.status();
  if (device < 0 || static_cast<std::size_t>(device) >= state_->devices.size()) {
    return Status(Code::invalid_argument, "no such RDMA device", device);
  }
  const Device& chosen = state_->devices[static_cast<std::size_t>(device)];
  auto control = state_->control.open(control_for(chosen, state_->controls));
  if (!control.ok()) return control.status();
  auto context = Context::open(*state_->settings, chosen);
  if (!context.ok()) return context.status();
  auto endpoint =
      std::make_unique<VerbsEndpoint>(std::move(context).value(), std::move(control).value());
  if (!endpoint->is_valid()) return Status(Code::system_error, "cannot make an epoll descriptor");
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

}  // namespace thinwire::transports::verbs
