#include "topology/pci_facts.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace thinwire::topology {
namespace {

struct Generation {
  double gts;
  double gbytes_s;  // per lane, after the line code
};
constexpr std::array kGenerations{Generation{2.5, 0.25}, Generation{5, 0.5},
                                  Generation{8, 0.985},  Generation{16, 1.969},
                                  Generation{32, 3.938}, Generation{64, 7.563}};

bool parse_hex(std::string_view text, std::size_t most_digits, unsigned& value) {
  if (text.empty() || text.size() > most_digits) return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && stop == text.data() + text.size();
}

}  // namespace

std::string bus_id_text(unsigned domain, unsigned bus, unsigned device, unsigned function) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus & 0xff, device & 0x1f,
                function & 0xf);
  return text;
}

std::optional<std::string> normalised_bus_id(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  const std::size_t second = text.rfind(':');
  if (second == std::string_view::npos || second == 0) return std::nullopt;
  const std::size_t first = text.rfind(':', second - 1);
  if (first == std::string_view::npos || dot == std::string_view::npos || dot < second) {
    return std::nullopt;
  }
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  if (!parse_hex(text.substr(0, first), 8, domain) ||
      !parse_hex(text.substr(first + 1, second - first - 1), 2, bus) ||
      !parse_hex(text.substr(second + 1, dot - second - 1), 2, device) ||
      !parse_hex(text.substr(dot + 1), 1, function) || device > 0x1f) {
    return std::nullopt;
  }
  return bus_id_text(domain, bus, device, function);
}

bool is_bridge(const PciDevice& device) { return device.class_id >> 8 == 0x0604; }

bool is_nvidia_gpu(const PciDevice& device) {
  return device.vendor == kNvidia && device.class_id >> 16 == 0x03;
}

bool is_nvswitch(const PciDevice& device) {
  return device.vendor == kNvidia && device.class_id >> 8 == 0x0680;
}

void set_link(double gbytes_s, PciDevice& device) {
  if (!(gbytes_s > 0)) return;
  for (const int lanes : {16, 8, 4, 2, 1}) {
    for (const Generation& generation : kGenerations) {
      const double exact = generation.gbytes_s * lanes;
      if (std::abs(exact - gbytes_s) > 0.03 * exact) continue;
      device.link_gts = generation.gts;
      device.link_width = lanes;
      return;
    }
  }
}

std::string link_speed_text(double gts) {
  if (!(gts > 0)) return {};
  const Generation* nearest = kGenerations.data();
  for (const Generation& each : kGenerations) {
    if (std::abs(each.gts - gts) < std::abs(nearest->gts - gts)) nearest = &each;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GT/s PCIe", nearest->gts);
  return text;
}

std::uint64_t guid_value(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t guid = 0;
  for (const char c : text) {
    if (c == ':') continue;
    unsigned digit = 0;
    if (!parse_hex({&c, 1}, 1, digit)) break;
    guid = guid << 4 | digit;
  }
  return guid;
}

}  // namespace thinwire::topology
