#include "plugin/memory.h"

#include <memory>

#include "base/nccl_abi/types.h"

namespace thinwire::plugin {

namespace {
struct MemoryHandle {
  transports::MemoryKey key;
};
}  // namespace

Result<void*> register_memory(transports::Endpoint& endpoint, void* data, std::size_t bytes,
                              int kind, const Log& log) {
  if (kind != tw_nccl_ptr_host) {
    THINWIRE_WARN(log, "regMr: memory of type %d refused, this device takes host memory (%d) only",
                  kind, tw_nccl_ptr_host);
    return Status(Code::invalid_argument, "regMr: not host memory");
  }
  if (data == nullptr && bytes > 0) {
    THINWIRE_WARN(log, "regMr: %zu bytes at a null pointer", bytes);
    return Status(Code::invalid_argument, "regMr: null pointer");
  }
  auto key = endpoint.register_memory(data, bytes, transports::MemoryKind::host);
  if (!key.ok()) return key.status();
  return static_cast<void*>(new MemoryHandle{key.value()});
}

Status deregister_memory(transports::Endpoint& endpoint, void* mhandle) {
  if (mhandle == nullptr) return {};
  const std::unique_ptr<MemoryHandle> handle(static_cast<MemoryHandle*>(mhandle));
  return endpoint.deregister_memory(handle->key);
}

transports::MemoryKey key_of(const void* mhandle) {
  return mhandle == nullptr ? transports::MemoryKey{}
                            : static_cast<const MemoryHandle*>(mhandle)->key;
}

}  // namespace thinwire::plugin
