// A list of network devices as NCCL_IB_HCA and NCCL_SOCKET_IFNAME have it, taken apart. A value;
// any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/nic_info.h"

namespace thinwire {

// A comma list of name prefixes, each with ":port", ":port:rail" or ":port:rail:plane" where that
// is meant (an empty one or -1: any port, no rail, no plane); exact names after a leading "="; what
// to leave out after a leading "^" (also "^="). Empty: everything.
class DeviceList {
 public:
  explicit DeviceList(std::string_view text);
  bool empty() const { return items_.empty(); }
  // `port` 0: the device has none, so that an item's does not matter.
  bool admits(std::string_view device, int port) const;
  // What the first item that names it says.
  RailIds ids_of(std::string_view device, int port) const;
  // A sentence for each number that is ignored.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  struct Item {
    std::string name;
    int port = kUndefinedId;
    RailIds ids;
  };
  void add(std::string_view item);
  const Item* find(std::string_view device, int port) const;

  bool exclude_ = false;
  bool exact_ = false;
  std::vector<Item> items_;
  std::vector<std::string> complaints_;
};

}  // namespace thinwire
