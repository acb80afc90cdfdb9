// Which address of a port to use. Pure; any thread.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace thinwire::transports::verbs {

struct ChosenGid {
  ibv_gid gid{};
  int index = 0;
  unsigned interface = 0;  // of the network device below it; 0: none
  std::string reason;      // "GID 3, 10.0.0.1, RoCEv2, IPv4"
};

// Of a RoCE port: the lowest index with RoCEv2 and an address mapped from IPv4, else RoCEv2 with
// a routed IPv6 address, else RoCEv2 with a link-local one, else RoCEv1. Of an InfiniBand port:
// the lowest. `wanted` >= 0 (NCCL_IB_GID_INDEX) is that index or nothing.
// Code::system_error: the port has no such entry.
Result<ChosenGid> choose_gid(std::span<const ibv_gid_entry> table, std::uint32_t port, int wanted);

}  // namespace thinwire::transports::verbs
