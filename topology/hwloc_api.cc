#include "topology/hwloc_api.h"

#include <dlfcn.h>

namespace thinwire::topology {

void HwlocApi::Unload::operator()(void* library) const { dlclose(library); }

template <class Function>
bool HwlocApi::find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library_.get(), name));
  return function != nullptr;
}

HwlocApi::HwlocApi() : library_(dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    why_ = "libhwloc.so.15 cannot be loaded";
    return;
  }
  decltype(&hwloc_get_api_version) get_api_version = nullptr;
  const bool found = find("hwloc_get_api_version", get_api_version) &&
                     find("hwloc_topology_init", topology_init) &&
                     find("hwloc_topology_destroy", topology_destroy) &&
                     find("hwloc_topology_load", topology_load) &&
                     find("hwloc_topology_set_xmlbuffer", set_xmlbuffer) &&
                     find("hwloc_topology_set_synthetic", set_synthetic) &&
                     find("hwloc_topology_set_io_types_filter", set_io_types_filter) &&
                     find("hwloc_topology_set_components", set_components) &&
                     find("hwloc_get_obj_by_depth", get_obj_by_depth) &&
                     find("hwloc_bitmap_next", bitmap_next) &&
                     find("hwloc_distances_get_by_name", distances_get_by_name) &&
                     find("hwloc_distances_release", distances_release);
  if (!found) {
    why_ = "libhwloc.so.15 is too old: 2.1 or newer is needed";
  } else if (get_api_version() >> 16 != HWLOC_API_VERSION >> 16) {
    why_ = "libhwloc.so.15 has another ABI than the header this was built with";
  }
}

}  // namespace thinwire::topology
