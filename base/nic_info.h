// NicInfo: what is known of one network device, whatever transport uses it. A value.
#pragma once

#include <cstdint>
#include <string>

namespace thinwire {

struct NicInfo {
  std::string name;        // as users and NCCL know it: eth0, mlx5_0
  std::string pci_path;    // real path below /sys/devices, "" where the device has no PCI parent
  std::uint64_t guid = 0;  // equal for the functions and ports of one NIC chip, else unique
  int speed_mbps = 10000;  // port speed; 10000 where the system does not say
  bool speed_known = false;
  int port = 0;
  int numa_node = -1;        // -1: unknown
  bool peer_memory = false;  // it reads and writes a GPU's memory by its address
  bool dmabuf = false;       // and where that comes as a DMA-BUF
  std::string reason;        // why it was chosen, for the log
};

}  // namespace thinwire
