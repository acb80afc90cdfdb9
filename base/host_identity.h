// HostIdentity: which machine this process runs on. A value; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thinwire {

// Equal hashes: processes that reach one another over loopback.
struct HostIdentity {
  std::uint64_t hash = 0;
  std::string name;  // for messages to people
};

// From boot id, host name and network namespace; a non-empty `hostid` (NCCL_HOSTID) replaces all
// three. Reads /proc.
HostIdentity host_identity(std::string_view hostid);

// Equal: processes that reach one another over loopback and local sockets, whatever NCCL_HOSTID
// says. Of one boot and one network namespace; 0 where /proc does not tell. Reads /proc.
std::uint64_t local_reach();

}  // namespace thinwire
