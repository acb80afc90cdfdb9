#include "transports/ucx/registrations.h"

namespace thinwire::transports::ucx {

Registrations::~Registrations() {
  for (const auto& [key, memory] : mapped_) {
    if (memory != nullptr) context_.api().mem_unmap(context_.native(), memory);
  }
}

Result<MemoryKey> Registrations::add(void* data, std::size_t bytes, MemoryKind kind) {
  const bool cuda = kind == MemoryKind::cuda;
  if (cuda && !context_.handles_cuda()) {
    return Status(Code::invalid_argument, "this UCX does not handle CUDA memory");
  }
  ucp_mem_h memory = nullptr;
  if (bytes > 0) {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                        UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
    params.address = data;
    params.length = bytes;
    params.memory_type = cuda ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
    const ucs_status_t status = context_.api().mem_map(context_.native(), &params, &memory);
    if (status != UCS_OK) return Status(Code::system_error, "UCX does not map the memory", status);
  }
  const MemoryKey key{next_++ << 1 | (cuda ? 1 : 0)};
  mapped_.emplace(key.value, memory);
  return key;
}

Status Registrations::remove(MemoryKey key) {
  const auto at = mapped_.find(key.value);
  if (at == mapped_.end()) return {Code::invalid_argument, "not a key of this endpoint"};
  if (at->second != nullptr) context_.api().mem_unmap(context_.native(), at->second);
  mapped_.erase(at);
  return {};
}

}  // namespace thinwire::transports::ucx
