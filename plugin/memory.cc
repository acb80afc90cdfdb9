#include "plugin/memory.h"

#include <memory>

#include "base/nccl_abi/types.h"

namespace thinwire::plugin {

namespace {
struct MemoryHandle {
  transports::MemoryKey key;
  bool gpu = false;
};

Result<void*> handle_of(const Result<transports::MemoryKey>& key, bool gpu, const Log& log) {
  if (key.ok()) return static_cast<void*>(new MemoryHandle{key.value(), gpu});
  if (gpu) {
    THINWIRE_WARN(log, "GPU memory cannot be registered: %s (errno %d)", key.status().text(),
                  key.status().native());
  }
  return key.status();
}
}  // namespace

Result<void*> register_memory(transports::Endpoint& endpoint, void* data, std::size_t bytes,
                              int kind, int types, const Log& log) {
  const bool known = kind == tw_nccl_ptr_host || kind == tw_nccl_ptr_cuda;
  if (!known || (kind & types) == 0) {
    THINWIRE_WARN(
        log, "regMr: memory of type %d refused, this device takes %s", kind,
        (types & tw_nccl_ptr_cuda) != 0 ? "host (1) and GPU memory (2)" : "host memory (1) only");
    return Status(Code::invalid_argument, "regMr: not a type of memory that the device takes");
  }
  if (data == nullptr && bytes > 0) {
    THINWIRE_WARN(log, "regMr: %zu bytes at a null pointer", bytes);
    return Status(Code::invalid_argument, "regMr: null pointer");
  }
  const bool gpu = kind == tw_nccl_ptr_cuda;
  const auto its_kind = gpu ? transports::MemoryKind::cuda : transports::MemoryKind::host;
  return handle_of(endpoint.register_memory(data, bytes, its_kind), gpu, log);
}

Result<void*> register_dmabuf(transports::Endpoint& endpoint, void* data, std::size_t bytes,
                              std::uint64_t offset, int fd, int types, const Log& log) {
  if ((types & tw_nccl_ptr_dmabuf) == 0) {
    THINWIRE_WARN(log, "regMrDmaBuf: DMA-BUF memory refused, ptrSupport does not offer it");
    return Status(Code::invalid_argument, "regMrDmaBuf: the device takes none");
  }
  if (data == nullptr || bytes == 0 || fd < 0) {
    THINWIRE_WARN(log, "regMrDmaBuf: %zu bytes at %p in descriptor %d", bytes, data, fd);
    return Status(Code::invalid_argument, "regMrDmaBuf: no memory");
  }
  return handle_of(endpoint.register_dmabuf(data, bytes, offset, fd), true, log);
}

Status deregister_memory(transports::Endpoint& endpoint, void* mhandle) {
  if (mhandle == nullptr) return {};
  const std::unique_ptr<MemoryHandle> handle(static_cast<MemoryHandle*>(mhandle));
  return endpoint.deregister_memory(handle->key);
}

bool is_gpu_memory(const void* mhandle) {
  return mhandle != nullptr && static_cast<const MemoryHandle*>(mhandle)->gpu;
}

transports::MemoryKey key_of(const void* mhandle) {
  return mhandle == nullptr ? transports::MemoryKey{}
                            : static_cast<const MemoryHandle*>(mhandle)->key;
}

}  // namespace thinwire::plugin
