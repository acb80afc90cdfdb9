#include "transports/ucx/resources.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace thinwire::transports::ucx {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kSharedMemory{"posix", "sysv", "xpmem"};
constexpr std::array<std::string_view, 2> kRemoteReads{"cma", "knem"};
// Name a class of devices that never leave the host.
constexpr std::array<std::string_view, 2> kLocalDevices{"memory", "memory0"};

std::string pci_path_of(const std::string& sysfs_root, std::string_view rdma_device) {
  std::error_code error;
  const fs::path device =
      fs::canonical(fs::path(sysfs_root) / "class" / "infiniband" / rdma_device / "device", error);
  return error ? std::string() : device.string();
}

bool belongs_to(const Resource& resource, const NicInfo& nic, const std::string& sysfs_root) {
  if (resource.device == nic.name) return true;
  const std::size_t colon = resource.device.find(':');
  if (colon == std::string::npos || nic.pci_path.empty()) return false;
  return pci_path_of(sysfs_root, resource.device.substr(0, colon)) == nic.pci_path;
}

}  // namespace

bool Resource::is_shared_memory() const {
  return std::ranges::find(kSharedMemory, transport) != kSharedMemory.end();
}

bool Resource::is_network() const {
  return std::ranges::find(kLocalDevices, device) == kLocalDevices.end() &&
         !transport.starts_with("cuda") && !transport.starts_with("rocm") &&
         !transport.starts_with("ze_") && transport != "gdr_copy";
}

std::vector<Resource> parse_resources(std::string_view text) {
  std::vector<Resource> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find(" resource ") == std::string_view::npos) continue;
    const std::size_t slash = line.rfind('/');
    const std::size_t space = line.rfind(' ');
    if (slash == std::string_view::npos || space == std::string_view::npos || space > slash) {
      continue;
    }
    found.push_back({std::string(line.substr(space + 1, slash - space - 1)),
                     std::string(line.substr(slash + 1))});
  }
  return found;
}

std::vector<std::string> devices_of(const NicInfo& nic, const std::vector<Resource>& resources,
                                    const std::string& sysfs_root) {
  std::vector<std::string> devices;
  for (const Resource& resource : resources) {
    if (!resource.is_network() || !belongs_to(resource, nic, sysfs_root)) continue;
    if (std::ranges::find(devices, resource.device) == devices.end()) {
      devices.push_back(resource.device);
    }
  }
  return devices;
}

bool has_shared_memory(const std::vector<Resource>& resources) {
  return std::ranges::any_of(resources, &Resource::is_shared_memory);
}

bool has_remote_reads(const std::vector<Resource>& resources) {
  return std::ranges::any_of(resources, [](const Resource& resource) {
    return std::ranges::find(kRemoteReads, resource.transport) != kRemoteReads.end();
  });
}

bool has_network(const std::vector<Resource>& resources) {
  return std::ranges::any_of(resources, &Resource::is_network);
}

bool has_tcp_only(const std::vector<Resource>& resources) {
  return has_network(resources) && std::ranges::all_of(resources, [](const Resource& resource) {
           return !resource.is_network() || resource.transport == "tcp";
         });
}

std::string text_of(const std::vector<Resource>& resources) {
  std::string text;
  for (const Resource& resource : resources) {
    if (!text.empty()) text += ' ';
    text += resource.transport + "/" + resource.device;
  }
  return text;
}

}  // namespace thinwire::transports::ucx
