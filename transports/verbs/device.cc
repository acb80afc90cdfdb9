#include "transports/verbs/device.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "base/device_list.h"
#include "transports/verbs/words.h"

namespace thinwire::transports::verbs {

namespace {

// The library's list, for as long as it is looked at.
class NativeDevices {
 public:
  explicit NativeDevices(const Api& api) : api_(api), list_(api.get_device_list(&count_)) {}
  ~NativeDevices() {
    if (list_ != nullptr) api_.free_device_list(list_);
  }
  NativeDevices(const NativeDevices&) = delete;
  NativeDevices& operator=(const NativeDevices&) = delete;
  ibv_device** begin() const { return list_; }
  ibv_device** end() const { return list_ + (list_ == nullptr ? 0 : count_); }

 private:
  const Api& api_;
  int count_ = 0;
  ibv_device** list_;
};

Result<ChosenGid> read_gid(const Api& api, ibv_context* context, int port, int wanted) {
  std::vector<ibv_gid_entry> table(1024);
  const ssize_t count = api.query_gid_table(context, table.data(), table.size());
  if (count < 0) {
    return Status(Code::system_error, "the GID table cannot be read (rdma-core before 32?)",
                  static_cast<int>(-count));
  }
  table.resize(static_cast<std::size_t>(count));
  return choose_gid(table, static_cast<std::uint32_t>(port), wanted);
}

void read_sysfs(NicInfo& nic, const std::string& root, const std::string& hca) {
  const std::filesystem::path device =
      std::filesystem::path(root) / "class" / "infiniband" / hca / "device";
  std::error_code error;
  const auto real = std::filesystem::canonical(device, error);
  if (error) return;  // soft devices have no parent
  nic.pci_path = real.string();
  int node = -1;
  if (std::ifstream(device / "numa_node") >> node) nic.numa_node = node;
}

// Whether the driver of a GPU lets RDMA devices at its memory by address.
bool has_peer_memory(const std::string& root) {
  constexpr std::array kSigns{
      "kernel/mm/memory_peers/nv_mem/version", "kernel/mm/memory_peers/nvidia-peermem/version",
      "kernel/mm/memory_peers/nv_mem_nc/version", "module/nvidia_peermem/version"};
  return std::ranges::any_of(kSigns, [&](const char* sign) {
    std::error_code error;
    return std::filesystem::exists(std::filesystem::path(root) / sign, error);
  });
}

// Whether library, kernel and device know DMA-BUFs: then it is the descriptor that they refuse.
bool takes_dmabuf(const Api& api, ibv_context* context) {
  ibv_pd* domain = api.alloc_pd(context);
  if (domain == nullptr) return false;
  errno = 0;
  ibv_mr* mr = api.reg_dmabuf_mr(domain, 0, 0, 0, -1, 0);
  const bool knows = mr != nullptr || (errno != EOPNOTSUPP && errno != EPROTONOSUPPORT);
  if (mr != nullptr) api.dereg_mr(mr);
  api.dealloc_pd(domain);
  return knows;
}

// One device's ports, as long as it is open.
class PortFinder {
 public:
  PortFinder(const Settings& settings, const std::string& sysfs_root, std::vector<Device>& found)
      : settings_(settings),
        sysfs_root_(sysfs_root),
        list_(settings.config.ib_hca),
        peer_memory_(has_peer_memory(sysfs_root)),
        found_(found) {
    for (const std::string& complaint : list_.complaints()) {
      THINWIRE_WARN(settings.log, "NCCL_IB_HCA: %s", complaint.c_str());
    }
  }

  void look_at(ibv_device* native) {
    const std::string hca = native->name;
    ibv_context* context = settings_.api.open_device(native);
    if (context == nullptr) {
      THINWIRE_INFO(settings_.log, "verbs: %s cannot be opened (errno %d)", hca.c_str(), errno);
      return;
    }
    dmabuf_ = takes_dmabuf(settings_.api, context);
    ibv_device_attr limits{};
    if (settings_.api.query_device(context, &limits) == 0) {
      for (int port = 1; port <= limits.phys_port_cnt; ++port) {
        take_port(context, limits, hca, port);
      }
    }
    settings_.api.close_device(context);
  }

 private:
  void take_port(ibv_context* context, const ibv_device_attr& limits, const std::string& hca,
                 int number) {
    if (!list_.admits(hca, number)) return;
    ibv_port_attr port{};
    if (settings_.api.query_port(context, static_cast<std::uint8_t>(number), &port) != 0) return;
    if (port.state != IBV_PORT_ACTIVE) {
      THINWIRE_INFO(settings_.log, "verbs: %s:%d is not used: port %s", hca.c_str(), number,
                    words_of(port.state));
      return;
    }
    const auto gid =
        read_gid(settings_.api, context, number, static_cast<int>(settings_.config.ib_gid_index));
    if (!gid.ok()) {
      THINWIRE_INFO(settings_.log, "verbs: %s:%d is not used: %s", hca.c_str(), number,
                    gid.status().text());
      return;
    }
    Device device;
    device.hca = hca;
    device.port = number;
    device.interface = gid.value().interface;
    device.nic.name = limits.phys_port_cnt > 1 ? hca + ":" + std::to_string(number) : hca;
    device.nic.port = number;
    device.nic.ids = list_.ids_of(hca, number);
    device.nic.guid = be64toh(limits.sys_image_guid);
    const int speed = speed_mbps(port.active_speed, port.active_width);
    device.nic.speed_known = speed > 0;
    if (device.nic.speed_known) device.nic.speed_mbps = speed;
    const bool ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
    device.ethernet = ethernet;
    device.nic.reason = std::string(ethernet ? "RoCE" : "InfiniBand") + " port " +
                        std::to_string(number) + ", " + gid.value().reason;
    if (!settings_.config.ib_hca.empty()) {
      device.nic.reason += ", matching NCCL_IB_HCA=" + settings_.config.ib_hca;
    }
    read_sysfs(device.nic, sysfs_root_, hca);
    device.nic.peer_memory = peer_memory_;
    device.nic.dmabuf = dmabuf_;
    found_.push_back(std::move(device));
  }

  const Settings& settings_;
  const std::string& sysfs_root_;
  const DeviceList list_;
  const bool peer_memory_;
  bool dmabuf_ = false;  // the device that is looked at
  std::vector<Device>& found_;
};

Status failed(const char* text) { return {Code::system_error, text, errno}; }

}  // namespace

Result<std::vector<Device>> find_devices(const Settings& settings, const std::string& sysfs_root) {
  std::vector<Device> found;
  PortFinder finder(settings, sysfs_root, found);
  bool any = false;
  for (ibv_device* native : NativeDevices(settings.api)) {
    any = true;
    finder.look_at(native);
  }
  if (!any) return Status(Code::system_error, "this host has no RDMA device");
  if (found.empty()) {
    return Status(Code::system_error,
                  "no RDMA port is active, addressed and admitted by NCCL_IB_HCA");
  }
  return found;
}

Result<std::unique_ptr<Context>> Context::open(const Settings& settings, const Device& device) {
  std::unique_ptr<Context> context(new Context(settings, device));
  Status status = context->open_device(device.hca);
  if (status.ok()) status = context->make_parts();
  if (status.ok()) status = context->refresh();
  if (status.ok()) return context;
  THINWIRE_WARN(settings.log, "%s: %s (errno %d)", device.nic.name.c_str(), status.text(),
                status.native());
  return status;
}

Context::~Context() {
  if (channel_ != nullptr) api().destroy_comp_channel(channel_);
  if (domain_ != nullptr) api().dealloc_pd(domain_);
  if (native_ != nullptr) api().close_device(native_);
}

Status Context::open_device(const std::string& hca) {
  for (ibv_device* each : NativeDevices(api())) {
    if (native_ == nullptr && hca == each->name) native_ = api().open_device(each);
  }
  return native_ == nullptr ? failed("the RDMA device cannot be opened") : Status();
}

Status Context::make_parts() {
  if (api().query_device(native_, &limits_) != 0) return failed("the device tells no limits");
  domain_ = api().alloc_pd(native_);
  if (domain_ == nullptr) return failed("no protection domain");
  channel_ = api().create_comp_channel(native_);
  if (channel_ == nullptr) return failed("no completion channel");
  for (const int fd : {native_->async_fd, channel_->fd}) {
    if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) return failed("fcntl");
  }
  return {};
}

Status Context::refresh() {
  ibv_port_attr port{};
  if (api().query_port(native_, port_number_, &port) != 0) return failed("the port is gone");
  port_ = port;
  auto gid =
      read_gid(api(), native_, port_number_, static_cast<int>(settings_.config.ib_gid_index));
  if (!gid.ok()) return gid.status();
  gid_ = std::move(gid).value();
  return {};
}

int Context::speed() const { return speed_mbps(port_.active_speed, port_.active_width); }

void Context::look_at_port() {
  const Status seen = refresh();
  const bool up = seen.ok() && port_.state == IBV_PORT_ACTIVE;
  if (up && !up_) THINWIRE_WARN(settings_.log, "%s: is up again", name_.c_str());
  up_ = up;
}

void Context::take_event(const ibv_async_event& event) {
  const bool is_news =
      event.event_type != IBV_EVENT_COMM_EST && event.event_type != IBV_EVENT_QP_LAST_WQE_REACHED;
  if (is_news) {
    THINWIRE_WARN(settings_.log, "%s: event %d: %s", name_.c_str(), event.event_type,
                  words_of(event.event_type));
  }
  switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL:
      dead_ = true;
      break;
    case IBV_EVENT_PORT_ERR:
      if (event.element.port_num == port_number_) up_ = false;
      break;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_GID_CHANGE:
      if (event.element.port_num == port_number_) look_at_port();
      break;
    default:
      break;
  }
}

void Context::take_events() {
  ibv_async_event event{};
  while (api().get_async_event(native_, &event) == 0) {
    take_event(event);
    api().ack_async_event(&event);
  }
}

std::uint16_t ports_up(const Contexts& contexts) {
  std::uint16_t mask = 0;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    if (contexts[i]->is_up()) mask |= static_cast<std::uint16_t>(1u << i);
  }
  return mask;
}

void Context::drain_channel() const {
  ibv_cq* cq = nullptr;
  void* user = nullptr;
  while (api().get_cq_event(channel_, &cq, &user) == 0) api().ack_cq_events(cq, 1);
}

}  // namespace thinwire::transports::verbs
