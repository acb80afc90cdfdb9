// Interfaces as the kernel lists them and sysfs describes them.
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "transports/tcp/interfaces.h"

namespace thinwire::transports::tcp {

namespace {

namespace fs = std::filesystem;

fs::path class_of(const std::string& sysfs_root, const std::string& name) {
  return fs::path(sysfs_root) / "class" / "net" / name;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string read_line(const fs::path& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

bool is_bridge(const std::string& sysfs_root, const std::string& name) {
  if (name.starts_with("docker") || name.starts_with("virbr")) return true;
  const fs::path path = class_of(sysfs_root, name);
  // A port of a bridge, as the host's end of a container's veth pair is, carries no traffic of
  // its own.
  return is_there(path / "bridge") || is_there(path / "brport");
}

// Bonds and VLANs stand on another device: follow to the one with hardware.
fs::path lowest_device(const std::string& sysfs_root, const std::string& name) {
  fs::path path = class_of(sysfs_root, name);
  for (int depth = 0; depth < 4 && !is_there(path / "device"); ++depth) {
    std::error_code error;
    std::vector<fs::path> lower;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
      if (entry.path().filename().string().starts_with("lower_")) lower.push_back(entry.path());
    }
    if (lower.empty()) break;
    path = std::ranges::min(lower);
  }
  return path;
}

std::uint64_t guid_of(const std::string& pci_path, const fs::path& net) {
  std::string text;
  if (const std::size_t slash = pci_path.rfind('/'); slash != std::string::npos) {
    // The functions of one chip differ after the dot only.
    const std::string bus_id = pci_path.substr(slash + 1);
    if (const std::size_t dot = bus_id.rfind('.'); dot != std::string::npos) {
      text = bus_id.substr(0, dot);
    }
  }
  if (text.empty()) text = read_line(net / "address");
  std::uint64_t guid = 0;
  for (const char c : text) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit != std::string_view::npos) guid = guid << 4 | digit;
  }
  if (guid != 0) return guid;
  for (const char c : net.filename().string()) guid = guid * 31 + static_cast<unsigned char>(c);
  return guid;
}

int read_int(const fs::path& path, int otherwise) {
  int value = 0;
  std::ifstream file(path);
  return file >> value ? value : otherwise;
}

}  // namespace

std::vector<Interface> list_interfaces(const std::string& sysfs_root) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::vector<Interface> found;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    const SocketAddress address = SocketAddress::from_native(each->ifa_addr);
    if (address.family == SocketAddress::Family::none) continue;
    auto at = std::ranges::find(found, each->ifa_name, &Interface::name);
    if (at == found.end()) {
      Interface fresh;
      fresh.name = each->ifa_name;
      fresh.is_loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
      fresh.is_bridge = is_bridge(sysfs_root, fresh.name);
      at = found.insert(found.end(), std::move(fresh));
    }
    at->addresses.push_back(address);
  }
  ::freeifaddrs(list);
  // getifaddrs lists IPv4 first: sort, so that an address more or less moves no device.
  std::ranges::sort(found, {},
                    [](const Interface& each) { return ::if_nametoindex(each.name.c_str()); });
  return found;
}

NicInfo describe_nic(const Interface& interface, const std::string& sysfs_root) {
  NicInfo nic;
  nic.name = interface.name;
  const fs::path net = lowest_device(sysfs_root, interface.name);
  std::error_code error;
  if (is_there(net / "device")) {
    const fs::path device = fs::canonical(net / "device", error);
    if (!error) nic.pci_path = device.string();
  }
  nic.guid = guid_of(nic.pci_path, net);
  const int speed = read_int(class_of(sysfs_root, interface.name) / "speed", 0);
  nic.speed_known = speed > 0;
  if (nic.speed_known) nic.speed_mbps = speed;
  nic.numa_node = read_int(net / "device" / "numa_node", -1);
  return nic;
}

}  // namespace thinwire::transports::tcp
