// What UCX lists as its resources, and which of them belong to a NIC. Pure, but for sysfs below
// the given root; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/nic_info.h"

namespace thinwire::transports::ucx {

// One "tcp/eth0" or "rc_mlx5/mlx5_0:1".
struct Resource {
  std::string transport;
  std::string device;

  bool is_shared_memory() const;
  bool is_network() const;  // reaches other hosts
  bool operator==(const Resource&) const = default;
};

// Of the text that ucp_context_print_info() writes. What it does not understand is left out.
std::vector<Resource> parse_resources(std::string_view text);

// UCX's device names (as in UCX_NET_DEVICES) of one NIC: its network interface, and the RDMA
// devices that have the same PCI function.
std::vector<std::string> devices_of(const NicInfo& nic, const std::vector<Resource>& resources,
                                    const std::string& sysfs_root);

bool has_shared_memory(const std::vector<Resource>& resources);
// Whether the kernel copies from another process of this host.
bool has_remote_reads(const std::vector<Resource>& resources);
bool has_network(const std::vector<Resource>& resources);
// Whether other hosts are reached over TCP alone.
bool has_tcp_only(const std::vector<Resource>& resources);

// "tcp/eth0 posix/memory", for people.
std::string text_of(const std::vector<Resource>& resources);

}  // namespace thinwire::transports::ucx
