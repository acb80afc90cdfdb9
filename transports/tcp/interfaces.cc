#include "transports/tcp/interfaces.h"

#include <algorithm>

#include "base/device_list.h"

namespace thinwire::transports::tcp {

namespace {

constexpr int kNoPort = 0;  // an interface has none

bool fits(const SocketAddress& address, AddressFamily family) {
  switch (family) {
    case AddressFamily::any:
      return true;
    case AddressFamily::ipv4:
      return address.family == SocketAddress::Family::ipv4;
    case AddressFamily::ipv6:
      return address.family == SocketAddress::Family::ipv6;
  }
  return false;
}

const char* name_of(AddressFamily family) {
  return family == AddressFamily::ipv4 ? "AF_INET" : "AF_INET6";
}

// IPv4 first, then IPv6 that is routed, then link-local: the most widely reachable to listen on.
int rank_of(const SocketAddress& address) {
  if (address.family == SocketAddress::Family::ipv4) return 0;
  return address.is_link_local() ? 2 : 1;
}

std::vector<Interface> usable(const std::vector<Interface>& all, AddressFamily family) {
  std::vector<Interface> found;
  for (const Interface& each : all) {
    Interface admitted = each;
    std::erase_if(admitted.addresses, [&](const SocketAddress& address) {
      return !fits(address, family) || (address.is_link_local() && address.scope_id == 0);
    });
    std::ranges::stable_sort(admitted.addresses, {}, rank_of);
    if (each.is_up && !admitted.addresses.empty()) found.push_back(std::move(admitted));
  }
  return found;
}

std::string names_of(const std::vector<Interface>& interfaces) {
  std::string names;
  for (const Interface& each : interfaces) {
    names += names.empty() ? "" : ", ";
    names += each.name + " (";
    for (std::size_t i = 0; i < each.addresses.size(); ++i) {
      names += (i == 0 ? "" : " ") + each.addresses[i].text();
    }
    names += ")";
  }
  return names.empty() ? "none" : names;
}

InterfaceChoice make_choice(std::vector<Interface> chosen, const std::string& why) {
  static constexpr const char* kOrdinals[] = {"first", "second", "third", "fourth"};
  InterfaceChoice choice;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    std::string reason = why;
    if (chosen.size() == 1)
      reason = "the only interface " + why;
    else {
      const std::string ordinal =
          i < std::size(kOrdinals) ? kOrdinals[i] : std::to_string(i + 1) + "th";
      reason = ordinal;
      reason += " of " + std::to_string(chosen.size()) + " interfaces ";
      reason += why;
    }
    choice.chosen.push_back({std::move(chosen[i]), std::move(reason)});
  }
  return choice;
}

}  // namespace

InterfaceChoice choose_interfaces(const std::vector<Interface>& all, std::string_view filter,
                                  AddressFamily family) {
  const std::vector<Interface> candidates = usable(all, family);
  const std::string of_family = family == AddressFamily::any
                                    ? ""
                                    : std::string(" with NCCL_SOCKET_FAMILY=") + name_of(family);
  std::vector<Interface> chosen;
  if (!filter.empty()) {
    const DeviceList list(filter);
    std::ranges::copy_if(candidates, std::back_inserter(chosen),
                         [&](const Interface& each) { return list.admits(each.name, kNoPort); });
    const std::string by = "NCCL_SOCKET_IFNAME=" + std::string(filter) + of_family;
    if (!chosen.empty()) return make_choice(std::move(chosen), "matching " + by);
    return {{},
            by + " matches none of the interfaces that are up: " +
                names_of(usable(all, AddressFamily::any))};
  }
  std::ranges::copy_if(candidates, std::back_inserter(chosen),
                       [](const Interface& each) { return !each.is_loopback && !each.is_bridge; });
  if (!chosen.empty()) {
    return make_choice(std::move(chosen), "that is neither loopback nor a bridge" + of_family);
  }
  std::ranges::copy_if(candidates, std::back_inserter(chosen),
                       [](const Interface& each) { return each.is_loopback; });
  if (!chosen.empty()) {
    InterfaceChoice choice;
    for (Interface& each : chosen) {
      choice.chosen.push_back({std::move(each), "only loopback is up" + of_family});
    }
    return choice;
  }
  if (!candidates.empty())
    return make_choice(candidates, "that is up, though a bridge" + of_family);
  return {{},
          (of_family.empty() ? "no interface is up and has an address"
                             : of_family.substr(6) + " fits none of the interfaces that are up") +
              std::string("; there is: ") + names_of(usable(all, AddressFamily::any))};
}

}  // namespace thinwire::transports::tcp
