#include "plugin/handles.h"

#include <cstring>

namespace thinwire::plugin {

Plugin* usable_plugin(int dev, const char* call) {
  Plugin* plugin = process().plugin();
  if (plugin == nullptr) {
    THINWIRE_WARN(process().log(), "%s: called before init", call);
    return nullptr;
  }
  if (plugin->devices().find(dev) == nullptr) {
    THINWIRE_WARN(process().log(), "%s: device %d, have 0 to %d", call, dev,
                  plugin->devices().last());
    return nullptr;
  }
  return plugin;
}

tw_nccl_result_t not_ours(const char* call) {
  THINWIRE_WARN(process().log(), "%s: null argument, or a handle that is not of this kind", call);
  return tw_nccl_internal_error;
}

tw_nccl_result_t refuse_dmabuf() {
  THINWIRE_WARN(process().log(), "regMrDmaBuf: DMA-BUF memory refused, ptrSupport says host only");
  return tw_nccl_internal_error;
}

void write_handle(const transports::Handle& from, void* to) {
  std::memcpy(to, from.bytes.data(), from.bytes.size());
}

tw_nccl_result_t close_object(void* handle, ObjectKind kind, const char* call) {
  auto object = process().take(handle, kind);
  if (!object) return not_ours(call);
  process().release(std::move(object));
  return tw_nccl_success;
}

}  // namespace thinwire::plugin
