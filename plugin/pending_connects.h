// Connections on their way: NCCL calls connect() with the same handle until it gets a communicator,
// and nothing but the handle ties those calls together. Owner: Plugin. Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "plugin/net.h"

namespace thinwire::plugin {

class PendingConnects {
 public:
  // Begins or continues connecting `device` to `handle` (128 bytes at an address that stays the
  // same between calls). The established communicator, would_block, or why it failed: then the
  // attempt is forgotten.
  Result<std::unique_ptr<NetComm>> advance(Plugin& plugin, int device, const void* handle);

 private:
  // The bytes too: an abandoned attempt's address may serve another connection.
  using Key = std::pair<const void*, std::array<std::byte, transports::kHandleBytes>>;
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<NetComm>> attempts_;
};

}  // namespace thinwire::plugin
