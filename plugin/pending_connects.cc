#include "plugin/pending_connects.h"

#include <cstring>

namespace thinwire::plugin {

namespace {

Result<std::unique_ptr<NetComm>> begin(Plugin& plugin, int device,
                                       const transports::Handle& handle) {
  if (is_poison(handle)) {
    THINWIRE_WARN(plugin.log(), "connect: the peer could not listen (its log says why)");
    return Status(Code::peer_lost, "connect: the peer could not listen");
  }
  auto comm = NetComm::create(plugin, device, ObjectKind::net_send);
  if (!comm.ok()) return comm.status();
  if (const Status connecting = comm.value()->connect(handle); !connecting.ok()) return connecting;
  return comm;
}

}  // namespace

Result<std::unique_ptr<NetComm>> PendingConnects::advance(Plugin& plugin, int device,
                                                          const void* handle_bytes) {
  transports::Handle handle;
  std::memcpy(handle.bytes.data(), handle_bytes, handle.bytes.size());
  const std::lock_guard lock(mutex_);
  const Key key{handle_bytes, handle.bytes};
  auto attempt = attempts_.find(key);
  if (attempt == attempts_.end()) {
    auto comm = begin(plugin, device, handle);
    if (!comm.ok()) return comm.status();
    attempt = attempts_.emplace(key, std::move(comm).value()).first;
  }
  const Status state = attempt->second->state();
  if (state.is_would_block()) return state;
  auto comm = std::move(attempt->second);
  attempts_.erase(attempt);
  if (!state.ok()) return state;
  return comm;
}

}  // namespace thinwire::plugin
