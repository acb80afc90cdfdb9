// From what NCCL passes to what we have, and back: shared by the net_ and coll_ functions.
#pragma once

#include "base/nccl_abi/types.h"
#include "base/status.h"
#include "plugin/errors.h"
#include "plugin/memory.h"
#include "plugin/object.h"
#include "plugin/process.h"
#include "transports/transport.h"

namespace thinwire::plugin {

// The object behind a data-path handle, by its kind alone (no lock), or null. Stale handles are
// recognised as far as their memory allows.
template <class T>
T* object_cast(void* handle, ObjectKind kind) {
  auto* object = static_cast<Object*>(handle);
  return object != nullptr && object->kind() == kind ? static_cast<T*>(object) : nullptr;
}

// The Plugin, if there is one and it has device `dev`; else null, logged with `call`.
Plugin* usable_plugin(int dev, const char* call);

// Logs that `call` got a handle or argument that is not ours or is null.
tw_nccl_result_t not_ours(const char* call);

tw_nccl_result_t refuse_dmabuf();

// Copies the 128 bytes to where NCCL wants them.
void write_handle(const transports::Handle& from, void* to);

// Takes the object back and destroys it.
tw_nccl_result_t close_object(void* handle, ObjectKind kind, const char* call);

// Writes the value to *out where there is one; would_block is success and leaves *out.
template <class T>
tw_nccl_result_t give(const Result<T>& result, void** out) {
  if (result.ok()) *out = result.value();
  return to_nccl(result.status());
}

}  // namespace thinwire::plugin
