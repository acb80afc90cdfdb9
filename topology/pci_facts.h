// What PCI addresses, classes and link speeds mean. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "topology/topology.h"

namespace thinwire::topology {

// "0000:3b:00.0"
std::string bus_id_text(unsigned domain, unsigned bus, unsigned device, unsigned function);

// Lower case, domain of at least four digits, as sysfs writes it ("0000:3b:00.0"), also from
// NVML's "00000000:3B:00.0". nullopt when it is no PCI address.
std::optional<std::string> normalised_bus_id(std::string_view text);

inline constexpr std::uint32_t kNvidia = 0x10de;
bool is_bridge(const PciDevice& device);
bool is_nvidia_gpu(const PciDevice& device);  // display class 0x03
bool is_nvswitch(const PciDevice& device);    // class 0x068000

// From bytes per second (10^9) over all lanes, as hwloc gives it, to transfer rate and lanes. Where
// two fit (16 lanes of one generation, 8 of the next), the wider: only the product matters. 0:
// unknown, nothing is set.
void set_link(double gbytes_s, PciDevice& device);

// "16.0 GT/s PCIe", the generation next to `gts`; "" for 0.
std::string link_speed_text(double gts);

// "b8ce:f603:00a6:1234" or "0xb8cef60300a61234"; 0 when there is no number.
std::uint64_t guid_value(std::string_view text);

}  // namespace thinwire::topology
