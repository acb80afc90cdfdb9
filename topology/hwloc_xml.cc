#include "topology/hwloc_xml.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "topology/machine_builder.h"
#include "topology/pci_facts.h"
#include "topology/xml.h"

namespace thinwire::topology {
namespace {

constexpr std::size_t kMostDistances = 256;  // objects of one matrix
constexpr int kMostDevices = 8192;           // of PCI and of the operating system

// Of hwloc_obj_osdev_type_t.
constexpr int kOsDeviceGpu = 1;
constexpr int kOsDeviceNetwork = 2;
constexpr int kOsDeviceOpenfabrics = 3;
constexpr int kOsDeviceCoprocessor = 5;

template <class Number>
bool parse_whole(std::string_view text, Number& value, int base = 10) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && stop == text.data() + text.size();
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

class Reader {
 public:
  Reader(const XmlDocument& document, Machine& machine)
      : document_(document), machine_(machine), builder_(machine) {}

  // Empty when all is well; then the line does not count.
  std::pair<int, std::string> run() {
    const XmlElement& root = document_.elements.front();
    for (const int child : root.children) {
      if (at(child).name == "object") read_root(at(child));
    }
    if (!has_root_) fail(root, "there is no <object type=\"Machine\">");
    builder_.finish();
    for (const int child : root.children) {
      if (at(child).name.starts_with("distances2")) read_distances(at(child));
    }
    if (machine_.cores.empty()) fail(root, "the machine has no processor that is allowed");
    return {error_line_, std::move(error_)};
  }

 private:
  const XmlElement& at(int index) const {
    return document_.elements[static_cast<std::size_t>(index)];
  }
  void fail(const XmlElement& element, std::string what) {
    if (!error_.empty()) return;
    error_ = std::move(what);
    error_line_ = element.line;
  }
  void fail(const XmlElement& element, const char* attribute, const std::string& value,
            const char* accepted) {
    fail(element, "<" + element.name + " " + attribute + "=\"" + value.substr(0, 60) +
                      "\">: must be " + accepted);
  }

  std::string text_of(const XmlElement& element, const char* attribute) const {
    const std::string* value = element.find(attribute);
    return value == nullptr ? std::string() : *value;
  }

  // `otherwise` when the attribute is missing.
  template <class Number>
  Number number_of(const XmlElement& element, const char* attribute, Number otherwise) {
    const std::string* value = element.find(attribute);
    Number number = otherwise;
    if (value != nullptr && !parse_whole(*value, number)) {
      fail(element, attribute, *value, "a whole number");
    }
    return number;
  }

  std::optional<CpuSet> set_of(const XmlElement& element, const char* attribute) {
    const std::string* value = element.find(attribute);
    if (value == nullptr) return std::nullopt;
    auto set = CpuSet::from_mask(*value);
    if (!set) fail(element, attribute, *value, "a bitmap such as 0x0000ffff,0x0000ffff");
    return set;
  }

  MachineBuilder::Info infos_of(const XmlElement& element) const {
    return [this, &element](const char* name) {
      for (const int child : element.children) {
        const std::string* known = at(child).find("name");
        if (at(child).name == "info" && known != nullptr && *known == name) {
          return text_of(at(child), "value");
        }
      }
      return std::string();
    };
  }

  void read_root(const XmlElement& element) {
    if (has_root_) return fail(element, "a second machine");
    if (text_of(element, "type") != "Machine") {
      return fail(element, "type", text_of(element, "type"), "Machine, for the outermost object");
    }
    has_root_ = true;
    const CpuSet all = set_of(element, "cpuset").value_or(CpuSet());
    allowed_ = set_of(element, "allowed_cpuset").value_or(all) & all;
    allowed_nodes_ = set_of(element, "allowed_nodeset");
    builder_.add_root(allowed_, infos_of(element));
    visit(element, {});
  }

  static bool is_io(std::string_view type) {
    return type == "Bridge" || type == "PCIDev" || type == "OSDev" || type == "Misc";
  }

  // As in hwloc_machine.cc: the only node, or the first of those that hang from the object itself.
  int local_node(const XmlElement& element) {
    const auto nodes = set_of(element, "nodeset");
    if (!nodes || nodes->empty()) return kNone;
    std::size_t own = 0;
    for (const int child : element.children)
      own += text_of(at(child), "type") == "NUMANode" ? 1 : 0;
    return nodes->count() == 1 || nodes->count() == own ? static_cast<int>(nodes->cpus().front())
                                                        : kNone;
  }

  void visit(const XmlElement& element, Place place) {
    const std::string type = text_of(element, "type");
    if (type.empty()) return fail(element, "<object> without a type");
    if (!is_io(type)) {
      place.numa_node = local_node(element);
      place.cores = set_of(element, "cpuset").value_or(place.cores) & allowed_;
    }
    take(element, type, place);
    for (const int child : element.children) {
      if (error_.empty() && at(child).name == "object") visit(at(child), place);
    }
  }

  void take(const XmlElement& element, const std::string& type, Place& place) {
    if ((type == "PCIDev" || type == "OSDev") && ++devices_ > kMostDevices) {
      return fail(element, "more than " + std::to_string(kMostDevices) + " devices");
    }
    // Sockets is what hwloc 1.x called packages in its first years.
    if (type == "Package" || type == "Socket") {
      builder_.add_package(number_of(element, "os_index", 0), place, infos_of(element));
    } else if (type == "NUMANode") {
      take_numa_node(element, place);
    } else if (type == "Bridge" && text_of(element, "bridge_type").starts_with("0-")) {
      builder_.add_host_bridge(place);
    } else if (type == "Bridge" || type == "PCIDev") {
      take_pci(element, place);
    } else if (type == "OSDev") {
      builder_.add_os_device(kind_of(number_of(element, "osdev_type", 0)), text_of(element, "name"),
                             key_of(element), place, infos_of(element));
    }
  }

  void take_numa_node(const XmlElement& element, const Place& place) {
    const int os_index = number_of(element, "os_index", 0);
    const auto node = static_cast<std::size_t>(os_index);
    if (os_index < 0 || (allowed_nodes_ && !allowed_nodes_->contains(node))) return;
    builder_.add_numa_node(os_index, place, number_of(element, "local_memory", std::uint64_t{0}));
  }

  std::uint64_t key_of(const XmlElement& element) {
    return number_of(element, "gp_index", std::uint64_t{0});
  }

  static MachineBuilder::OsDevice kind_of(int type) {
    switch (type) {
      case kOsDeviceNetwork:
        return MachineBuilder::OsDevice::network;
      case kOsDeviceOpenfabrics:
        return MachineBuilder::OsDevice::openfabrics;
      case kOsDeviceGpu:
      case kOsDeviceCoprocessor:
        return MachineBuilder::OsDevice::gpu;
      default:
        return MachineBuilder::OsDevice::other;
    }
  }

  void take_pci(const XmlElement& element, Place& place) {
    PciDevice device;
    const std::string bus_id = text_of(element, "pci_busid");
    const auto known = normalised_bus_id(bus_id);
    if (!known) return fail(element, "pci_busid", bus_id, "a PCI address such as 0000:3b:00.0");
    if (!bus_ids_.insert(*known).second) {
      return fail(element, "PCI device " + *known + " is there twice");
    }
    device.bus_id = *known;
    if (!parse_pci_type(text_of(element, "pci_type"), device)) {
      return fail(element, "pci_type", text_of(element, "pci_type"),
                  "such as 0302 [10de:20b0] [10de:1463] a1");
    }
    const double gbytes_s = std::strtod(text_of(element, "pci_link_speed").c_str(), nullptr);
    builder_.add_pci(std::move(device), gbytes_s, key_of(element), place, infos_of(element));
  }

  // "0302 [10de:20b0] [10de:1463] a1"; none is nothing known.
  static bool parse_pci_type(std::string_view text, PciDevice& device) {
    if (text.empty()) return true;
    if (text.size() < 28 || text[5] != '[' || text[10] != ':' || text[17] != '[' ||
        text[22] != ':') {
      return false;
    }
    const bool parsed = parse_whole(text.substr(0, 4), device.class_id, 16) &&
                        parse_whole(text.substr(6, 4), device.vendor, 16) &&
                        parse_whole(text.substr(11, 4), device.device, 16) &&
                        parse_whole(text.substr(18, 4), device.subsystem_vendor, 16) &&
                        parse_whole(text.substr(23, 4), device.subsystem_device, 16);
    device.class_id <<= 8;
    return parsed;
  }

  void read_distances(const XmlElement& element) {
    if (text_of(element, "name") != "NVLinkBandwidth") return;
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> values;
    for (const int child : element.children) {
      const bool is_index = at(child).name == "indexes";
      if (is_index || at(child).name == "u64values")
        read_numbers(at(child), is_index ? keys : values);
    }
    if (keys.size() > kMostDistances || values.size() != keys.size() * keys.size()) {
      return fail(element, "<" + element.name + "> has " + std::to_string(keys.size()) +
                               " indexes and " + std::to_string(values.size()) +
                               " values; n of up to 256 objects need n*n");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      builder_.add_nvlink(keys[i / keys.size()], keys[i % keys.size()],
                          static_cast<double>(values[i]));
    }
  }

  // "12 13" or "OSDev:12 PCIDev:13"
  void read_numbers(const XmlElement& element, std::vector<std::uint64_t>& out) {
    for (std::string_view word : words_of(element.text)) {
      const std::string_view whole = word;
      word.remove_prefix(word.find(':') == std::string_view::npos ? 0 : word.find(':') + 1);
      std::uint64_t number = 0;
      if (!parse_whole(word, number)) {
        return fail(element, "<" + element.name + ">: '" + std::string(whole.substr(0, 60)) +
                                 "' is no number");
      }
      out.push_back(number);
    }
  }

  const XmlDocument& document_;
  Machine& machine_;
  MachineBuilder builder_;
  bool has_root_ = false;
  CpuSet allowed_;
  std::optional<CpuSet> allowed_nodes_;
  std::set<std::string> bus_ids_;
  int devices_ = 0;
  int error_line_ = 0;
  std::string error_;
};

std::pair<int, std::string> read_document(const XmlDocument& document, Machine& machine) {
  if (!document.error.empty()) return {document.error_line, document.error};
  const XmlElement& root = document.elements.front();
  if (root.name == "topology") return Reader(document, machine).run();
  const bool is_nccls = root.name == "system";
  return {root.line,
          "the root element is <" + root.name + ">, hwloc's is <topology>" +
              (is_nccls ? "; a topology file of NCCL's belongs into NCCL_TOPO_FILE" : "")};
}

}  // namespace

Result<Machine> read_hwloc_xml(const std::string& text, const std::string& file, const Log& log) {
  Machine machine;
  machine.source = Source::hwloc_xml;
  const auto [line, error] = read_document(parse_xml(text), machine);
  if (error.empty()) return machine;
  THINWIRE_WARN(log, "%s:%d: %s", file.c_str(), line, error.c_str());
  return Status(Code::invalid_config, "the description of the machine is malformed");
}

}  // namespace thinwire::topology
