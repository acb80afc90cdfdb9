#include "topology/hwloc_machine.h"

#include <string_view>
#include <utility>

#include "topology/hwloc_api.h"
#include "topology/machine_builder.h"
#include "topology/pci_facts.h"

namespace thinwire::topology {
namespace {

// What of hwloc would start other libraries, or move the calling thread from core to core.
constexpr const char* kUnwanted[] = {"x86", "opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"};

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

class Handle {
 public:
  explicit Handle(const HwlocApi& api) : api_(api) {
    if (api_.topology_init(&handle_) != 0) handle_ = nullptr;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (handle_ != nullptr) api_.topology_destroy(handle_);
  }
  hwloc_topology_t get() const { return handle_; }

 private:
  const HwlocApi& api_;
  hwloc_topology_t handle_ = nullptr;
};

std::string info_of(hwloc_obj_t object, const char* name) {
  for (unsigned i = 0; i < object->infos_count; ++i) {
    if (std::string_view(object->infos[i].name) == name) return object->infos[i].value;
  }
  return {};
}

bool is_io(hwloc_obj_t object) {
  return object->type == HWLOC_OBJ_BRIDGE || object->type == HWLOC_OBJ_PCI_DEVICE ||
         object->type == HWLOC_OBJ_OS_DEVICE || object->type == HWLOC_OBJ_MISC;
}

// Copies hwloc's tree into a Machine.
class Walk {
 public:
  Walk(const HwlocApi& api, hwloc_topology_t topology, Machine& machine)
      : api_(api), topology_(topology), builder_(machine) {}

  void run() {
    hwloc_obj_t root = api_.get_obj_by_depth(topology_, 0, 0);
    if (root == nullptr) return;
    builder_.add_root(cpus(root->cpuset), infos_of(root));
    visit(root, {});
    builder_.finish();
    read_nvlinks();
  }

 private:
  static MachineBuilder::Info infos_of(hwloc_obj_t object) {
    return [object](const char* name) { return info_of(object, name); };
  }

  CpuSet cpus(hwloc_const_bitmap_t set) const {
    CpuSet out;
    if (set == nullptr) return out;
    for (int i = api_.bitmap_next(set, -1); i >= 0 && i < static_cast<int>(CpuSet::kMaxCpus);
         i = api_.bitmap_next(set, i)) {
      out.add(static_cast<std::size_t>(i));
    }
    return out;
  }

  // The node that belongs to a part of the machine; kNone when there are several. Where all of
  // them hang from the part itself (processor's memory and a GPU's, as in Grace-Hopper), the first.
  int local_node(hwloc_obj_t object) const {
    if (object->nodeset == nullptr) return kNone;
    const int first = api_.bitmap_next(object->nodeset, -1);
    unsigned nodes = 0;
    for (int i = first; i >= 0; i = api_.bitmap_next(object->nodeset, i)) ++nodes;
    return nodes == 1 || (nodes > 0 && nodes == object->memory_arity) ? first : kNone;
  }

  void visit(hwloc_obj_t object, Place place) {
    if (!is_io(object)) {
      place.numa_node = local_node(object);
      place.cores = cpus(object->cpuset);
    }
    take(object, place);
    for (hwloc_obj_t child :
         {object->first_child, object->memory_first_child, object->io_first_child}) {
      for (; child != nullptr; child = child->next_sibling) visit(child, place);
    }
  }

  void take(hwloc_obj_t object, Place& place) {
    const int os_index = static_cast<int>(object->os_index);
    switch (object->type) {
      case HWLOC_OBJ_PACKAGE:
        return builder_.add_package(os_index, place, infos_of(object));
      case HWLOC_OBJ_NUMANODE:
        return builder_.add_numa_node(os_index, place, object->attr->numanode.local_memory);
      case HWLOC_OBJ_BRIDGE:
        if (object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
          return builder_.add_host_bridge(place);
        }
        return take_pci(object, object->attr->bridge.upstream.pci, place);
      case HWLOC_OBJ_PCI_DEVICE:
        return take_pci(object, object->attr->pcidev, place);
      case HWLOC_OBJ_OS_DEVICE:
        return builder_.add_os_device(kind_of(object->attr->osdev.type),
                                      object->name == nullptr ? "" : object->name, object->gp_index,
                                      place, infos_of(object));
      default:
        return;
    }
  }

  static MachineBuilder::OsDevice kind_of(hwloc_obj_osdev_type_t type) {
    switch (type) {
      case HWLOC_OBJ_OSDEV_NETWORK:
        return MachineBuilder::OsDevice::network;
      case HWLOC_OBJ_OSDEV_OPENFABRICS:
        return MachineBuilder::OsDevice::openfabrics;
      case HWLOC_OBJ_OSDEV_GPU:
      case HWLOC_OBJ_OSDEV_COPROC:
        return MachineBuilder::OsDevice::gpu;
      default:
        return MachineBuilder::OsDevice::other;
    }
  }

  void take_pci(hwloc_obj_t object, const PciAttributes& facts, Place& place) {
    PciDevice device;
    device.bus_id = bus_id_text(facts.domain, facts.bus, facts.dev, facts.func);
    device.class_id = static_cast<std::uint32_t>(facts.class_id) << 8;
    device.vendor = facts.vendor_id;
    device.device = facts.device_id;
    device.subsystem_vendor = facts.subvendor_id;
    device.subsystem_device = facts.subdevice_id;
    builder_.add_pci(std::move(device), static_cast<double>(facts.linkspeed), object->gp_index,
                     place, infos_of(object));
  }

  void read_nvlinks() {
    unsigned count = 1;
    hwloc_distances_s* matrix = nullptr;
    if (api_.distances_get_by_name(topology_, "NVLinkBandwidth", &count, &matrix, 0) != 0 ||
        count == 0) {
      return;
    }
    for (std::size_t i = 0; i < matrix->nbobjs * std::size_t{matrix->nbobjs}; ++i) {
      hwloc_obj_t from = matrix->objs[i / matrix->nbobjs];
      hwloc_obj_t to = matrix->objs[i % matrix->nbobjs];
      if (from == nullptr || to == nullptr) continue;
      builder_.add_nvlink(from->gp_index, to->gp_index, static_cast<double>(matrix->values[i]));
    }
    api_.distances_release(topology_, matrix);
  }

  const HwlocApi& api_;
  hwloc_topology_t topology_;
  MachineBuilder builder_;
};

bool set_input(const HwlocApi& api, hwloc_topology_t topology, HwlocInput input,
               const std::string& text) {
  switch (input) {
    case HwlocInput::xml:
      return api.set_xmlbuffer(topology, text.c_str(), static_cast<int>(text.size() + 1)) == 0;
    case HwlocInput::synthetic:
      return api.set_synthetic(topology, text.c_str()) == 0;
    case HwlocInput::running:
      break;
  }
  for (const char* component : kUnwanted) {
    // Those that are not there cannot be refused, which is as well.
    (void)api.set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  }
  return true;
}

Source source_of(HwlocInput input) {
  switch (input) {
    case HwlocInput::xml:
      return Source::hwloc_xml;
    case HwlocInput::synthetic:
      return Source::synthetic;
    case HwlocInput::running:
      break;
  }
  return Source::hwloc;
}

}  // namespace

Result<Machine> read_with_hwloc(HwlocInput input, const std::string& text) {
  const HwlocApi api;
  if (!api.ok()) return Status(Code::system_error, api.why());
  const Handle handle(api);
  if (handle.get() == nullptr) return Status(Code::system_error, "hwloc cannot be initialised");
  (void)api.set_io_types_filter(handle.get(), HWLOC_TYPE_FILTER_KEEP_ALL);
  if (!set_input(api, handle.get(), input, text) || api.topology_load(handle.get()) != 0) {
    if (input == HwlocInput::running) return Status(Code::system_error, "hwloc cannot read it");
    return Status(Code::invalid_config, "hwloc refuses the description");
  }
  Machine machine;
  machine.source = source_of(input);
  Walk(api, handle.get(), machine).run();
  return machine;
}

}  // namespace thinwire::topology
