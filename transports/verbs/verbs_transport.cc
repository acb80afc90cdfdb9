#include "transports/verbs/verbs_transport.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "transports/verbs/endpoint.h"

namespace thinwire::transports::verbs {

namespace {

// Whether a control device stands on the same network interface as the port, or, failing that, on
// the same PCI device.
bool is_below(const Device& device, const NicInfo& control, bool by_name) {
  if (!by_name) return !device.nic.pci_path.empty() && control.pci_path == device.nic.pci_path;
  std::array<char, IF_NAMESIZE> name{};
  return device.interface != 0 && ::if_indextoname(device.interface, name.data()) != nullptr &&
         control.name == name.data();
}

int index_of(const std::vector<NicInfo>& controls, const auto& fits) {
  const auto at = std::ranges::find_if(controls, fits);
  return at == controls.end() ? -1 : static_cast<int>(at - controls.begin());
}

// Of one port, the control device below it, else the first. Of several, one that is below none of
// them where there is such a one: it is not to fail with a port.
int control_for(const std::vector<const Device*>& devices, const std::vector<NicInfo>& controls) {
  if (devices.size() > 1) {
    const int apart = index_of(controls, [&](const NicInfo& control) {
      return std::ranges::none_of(devices, [&](const Device* device) {
        return is_below(*device, control, true) || is_below(*device, control, false);
      });
    });
    if (apart >= 0) return apart;
  }
  for (const bool by_name : {true, false}) {
    const int own = index_of(
        controls, [&](const NicInfo& control) { return is_below(*devices[0], control, by_name); });
    if (own >= 0) return own;
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
  return open_merged({&device, 1});
}

Status VerbsTransport::can_merge(std::span<const int> devices) {
  const auto known = probe();
  if (!known.ok()) return known.status();
  if (devices.size() > kMaxMergedDevices) {
    return {Code::invalid_config, "at most 8 RDMA devices can be used as one"};
  }
  for (const int device : devices) {
    if (device < 0 || static_cast<std::size_t>(device) >= state_->devices.size()) {
      return {Code::invalid_argument, "no such RDMA device", device};
    }
    if (state_->devices[static_cast<std::size_t>(device)].ethernet !=
        state_->devices[static_cast<std::size_t>(devices[0])].ethernet) {
      return {Code::invalid_config, "InfiniBand and RoCE ports cannot be used as one"};
    }
  }
  return {};
}

Result<std::unique_ptr<Endpoint>> VerbsTransport::open_merged(std::span<const int> devices) {
  if (devices.empty()) return Status(Code::invalid_argument, "no RDMA device");
  if (const Status possible = can_merge(devices); !possible.ok()) return possible;
  std::vector<const Device*> chosen;
  for (const int device : devices) {
    chosen.push_back(&state_->devices[static_cast<std::size_t>(device)]);
  }
  auto control = state_->control.open(control_for(chosen, state_->controls));
  if (!control.ok()) return control.status();
  Contexts contexts;
  for (const Device* device : chosen) {
    auto context = Context::open(*state_->settings, *device);
    if (!context.ok()) return context.status();
    contexts.push_back(std::move(context).value());
  }
  auto endpoint = std::make_unique<VerbsEndpoint>(std::move(contexts), std::move(control).value());
  if (!endpoint->is_valid()) return Status(Code::system_error, "cannot make an epoll descriptor");
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

}  // namespace thinwire::transports::verbs
