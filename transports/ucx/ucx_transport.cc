#include "transports/ucx/ucx_transport.h"

#include <map>
#include <optional>

#include "transports/ucx/context.h"
#include "transports/ucx/departed.h"
#include "transports/ucx/endpoint.h"

namespace thinwire::transports::ucx {

namespace {

constexpr const char* kSysfsRoot = "/sys";

struct Device {
  NicInfo nic;
  int control_device = 0;
  std::string ucx_devices;  // as UCX_NET_DEVICES has it; empty: shared memory only
};

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

struct UcxTransport::State {
  State(const Config& the_config, const Log& the_log, const Clock& the_clock,
        Transport& the_control)
      : config(the_config),
        log(the_log),
        clock(the_clock),
        control(the_control),
        departed(the_clock) {}

  Status find_devices();
  void choose(const std::vector<NicInfo>& nics, const std::vector<Resource>& resources);
  Result<const Context*> context_for(const std::string& ucx_devices);

  const Config config;
  const Log& log;
  const Clock& clock;
  Transport& control;
  bool probed = false;
  Status probe_status;
  std::optional<Settings> settings;
  std::vector<Device> devices;
  std::map<std::string, std::unique_ptr<Context>> contexts;  // by their devices
  Departed departed;  // last: what it holds uses all of the above
};

UcxTransport::UcxTransport(const Config& config, const Log& log, const Clock& clock,
                           Transport& control)
    : state_(std::make_unique<State>(config, log, clock, control)) {}
UcxTransport::~UcxTransport() = default;

void UcxTransport::State::choose(const std::vector<NicInfo>& nics,
                                 const std::vector<Resource>& resources) {
  // UCX that was told to use shared memory alone serves the ranks of one host.
  const bool memory_only = !has_network(resources) && has_shared_memory(resources);
  for (std::size_t i = 0; i < nics.size(); ++i) {
    Device device{nics[i], static_cast<int>(i), joined(devices_of(nics[i], resources, kSysfsRoot))};
    if (device.ucx_devices.empty() && !memory_only) {
      THINWIRE_INFO(log, "UCX: %s is none of its devices (UCX_TLS, UCX_NET_DEVICES?)",
                    nics[i].name.c_str());
      continue;
    }
    device.nic.reason +=
        memory_only ? "; UCX: shared memory only, one host" : "; UCX: " + device.ucx_devices;
    devices.push_back(std::move(device));
  }
}

Status UcxTransport::State::find_devices() {
  const auto nics = control.probe();
  if (!nics.ok()) return nics.status();
  const Result<Api> api = load_api(log);
  if (!api.ok()) return api.status();
  settings.emplace(config, log, clock, api.value());
  auto everything = Context::create(*settings, "");
  if (!everything.ok()) return everything.status();
  const std::vector<Resource>& resources = everything.value()->resources();
  THINWIRE_INFO(log, "UCX resources: %s", text_of(resources).c_str());
  choose(nics.value(), resources);
  if (devices.empty()) {
    return {Code::system_error, "UCX has no resource on the chosen network interfaces"};
  }
  // Shared memory alone: the devices want nothing else.
  if (devices[0].ucx_devices.empty()) contexts[""] = std::move(everything).value();
  return {};
}

Result<const Context*> UcxTransport::State::context_for(const std::string& ucx_devices) {
  std::unique_ptr<Context>& context = contexts[ucx_devices];
  if (!context) {
    auto created = Context::create(*settings, ucx_devices);
    if (!created.ok()) return created.status();
    context = std::move(created).value();
  }
  return static_cast<const Context*>(context.get());
}

Result<std::vector<NicInfo>> UcxTransport::probe() {
  if (!state_->probed) {
    state_->probed = true;
    state_->probe_status = state_->find_devices();
  }
  if (!state_->probe_status.ok()) return state_->probe_status;
  std::vector<NicInfo> nics;
  for (const Device& device : state_->devices) nics.push_back(device.nic);
  return nics;
}

Result<std::unique_ptr<Endpoint>> UcxTransport::open(int device) {
  const auto devices = probe();
  if (!devices.ok()) return devices.status();
  if (device < 0 || static_cast<std::size_t>(device) >= state_->devices.size()) {
    return Status(Code::invalid_argument, "no such UCX device", device);
  }
  const Device& chosen = state_->devices[static_cast<std::size_t>(device)];
  const auto context = state_->context_for(chosen.ucx_devices);
  if (!context.ok()) return context.status();
  auto control = state_->control.open(chosen.control_device);
  if (!control.ok()) return control.status();
  auto endpoint =
      std::make_unique<UcxEndpoint>(*context.value(), std::move(control).value(), state_->departed);
  if (!endpoint->is_valid()) return Status(Code::system_error, "cannot make an epoll descriptor");
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

}  // namespace thinwire::transports::ucx
