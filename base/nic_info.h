// NicInfo: what is known of one network device, whatever transport uses it. A value.
#pragma once

#include <cstdint>
#include <string>

namespace thinwire {

inline constexpr int kUndefinedId = -1;  // NCCL's NCCL_NET_ID_UNDEF
inline constexpr int kMaxRail = 32767;
// What is above is for devices that are made of several planes' (plugin/merged_ids.h).
inline constexpr int kMaxPlane = 16383;

// Which rail and which plane of the network a device is connected to, as the user numbers them.
// NCCL never lets devices of different planes talk, and keeps a ring on one rail where it is told
// to.
struct RailIds {
  int rail = kUndefinedId;
  int plane = kUndefinedId;
  bool operator==(const RailIds&) const = default;
};

// ", rail 0, plane 1", or as much of it as is known.
inline std::string text_of(const RailIds& ids) {
  std::string text;
  if (ids.rail != kUndefinedId) text += ", rail " + std::to_string(ids.rail);
  if (ids.plane != kUndefinedId) text += ", plane " + std::to_string(ids.plane);
  return text;
}

struct NicInfo {
  std::string name;        // as users and NCCL know it: eth0, mlx5_0
  std::string pci_path;    // real path below /sys/devices, "" where the device has no PCI parent
  std::uint64_t guid = 0;  // equal for the functions and ports of one NIC chip, else unique
  int speed_mbps = 10000;  // port speed; 10000 where the system does not say
  bool speed_known = false;
  int port = 0;
  int numa_node = -1;  // -1: unknown
  RailIds ids;
  bool peer_memory = false;  // it reads and writes a GPU's memory by its address
  bool dmabuf = false;       // and where that comes as a DMA-BUF
  std::string reason;        // why it was chosen, for the log
};

}  // namespace thinwire
