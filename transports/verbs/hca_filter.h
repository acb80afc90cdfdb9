// NCCL_IB_HCA, taken apart. A value; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thinwire::transports::verbs {

// A comma list of name prefixes, each with ":port" where one port is meant; exact names after a
// leading "="; what to leave out after a leading "^" (also "^="). Empty: everything.
class HcaFilter {
 public:
  explicit HcaFilter(std::string_view text);
  bool admits(std::string_view device, int port) const;

 private:
  struct Item {
    std::string name;
    int port = 0;  // 0: any
  };
  bool exclude_ = false;
  bool exact_ = false;
  std::vector<Item> items_;
};

}  // namespace thinwire::transports::verbs
