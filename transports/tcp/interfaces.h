// Which network interfaces to use. Choosing is pure; listing and describing read the system.
// Values; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/nic_info.h"
#include "base/status.h"
#include "transports/tcp/socket.h"

namespace thinwire::transports::tcp {

struct Interface {
  std::string name;
  bool is_up = true;
  bool is_loopback = false;
  bool is_bridge = false;                // or a virtual pair to a container
  std::vector<SocketAddress> addresses;  // with port 0; the one to listen on comes first
};

struct ChosenInterface {
  Interface interface;
  std::string reason;
};

struct InterfaceChoice {
  std::vector<ChosenInterface> chosen;  // empty: nothing fits
  std::string refusal;                  // then: which variable excludes what, and what there is
};

// Those of `all` (in its order) that `filter` and `family` admit, with only the admitted
// addresses. `filter` has NCCL_SOCKET_IFNAME's syntax: a comma list of prefixes, of exact names
// after a leading "=", of what to leave out after a leading "^" (also "^="). Without a filter:
// neither loopback nor bridges, unless there is nothing else.
InterfaceChoice choose_interfaces(const std::vector<Interface>& all, std::string_view filter,
                                  AddressFamily family);

// The system's interfaces that are up and have an address, in the kernel's order. `sysfs_root` is
// "/sys" but in tests.
std::vector<Interface> list_interfaces(const std::string& sysfs_root);

// A chosen interface, and what sysfs knows of its device.
struct Device {
  Interface interface;
  NicInfo nic;
};
NicInfo describe_nic(const Interface& interface, const std::string& sysfs_root);

}  // namespace thinwire::transports::tcp
