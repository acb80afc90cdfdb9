// Who can share memory with whom. Pure but for what it reads of the system; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace thinwire::transports::ucx {

// Equal for processes that UCX's shared memory connects: one boot of one host, and the same IPC,
// mount and process namespaces. A non-empty `hostid` tells apart what would be equal.
std::uint64_t memory_domain(std::string_view hostid);

}  // namespace thinwire::transports::ucx
