// libhwloc.so.15, loaded at run time: its functions, typed by its own header. Owner: one reading;
// any thread.
#pragma once

#include <hwloc.h>
#include <hwloc/distances.h>

#include <memory>

namespace thinwire::topology {

class HwlocApi {
 public:
  // Not ok() when the library is missing or has another ABI; `why()` says what (static).
  HwlocApi();
  bool ok() const { return why_ == nullptr; }
  const char* why() const { return why_; }

  decltype(&hwloc_topology_init) topology_init = nullptr;
  decltype(&hwloc_topology_destroy) topology_destroy = nullptr;
  decltype(&hwloc_topology_load) topology_load = nullptr;
  decltype(&hwloc_topology_set_xmlbuffer) set_xmlbuffer = nullptr;
  decltype(&hwloc_topology_set_synthetic) set_synthetic = nullptr;
  decltype(&hwloc_topology_set_io_types_filter) set_io_types_filter = nullptr;
  decltype(&hwloc_topology_set_components) set_components = nullptr;
  decltype(&hwloc_get_obj_by_depth) get_obj_by_depth = nullptr;
  decltype(&hwloc_bitmap_next) bitmap_next = nullptr;
  decltype(&hwloc_distances_get_by_name) distances_get_by_name = nullptr;
  decltype(&hwloc_distances_release) distances_release = nullptr;

 private:
  struct Unload {
    void operator()(void* library) const;
  };
  template <class Function>
  bool find(const char* name, Function& function);

  std::unique_ptr<void, Unload> library_;
  const char* why_ = nullptr;
};

}  // namespace thinwire::topology
