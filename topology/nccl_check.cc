#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <string>

#include "topology/nccl_topology.h"
#include "topology/pci_facts.h"
#include "topology/xml.h"

namespace thinwire::topology {
namespace {

constexpr std::size_t kMostElements = 256;  // NCCL_TOPO_XML_MAX_NODES, its own additions included
constexpr std::size_t kMostChildren = 640;  // MAX_SUBS

enum class Kind : std::uint8_t { text, integer, number, hexadecimal, mask, bus_id };

enum class Need : std::uint8_t {
  optional,
  from_system,  // NCCL asks sysfs or the driver, which a virtual machine may hide
  required,
};

struct AttributeRule {
  std::string_view name;
  Kind kind = Kind::text;
  Need need = Need::optional;
  std::span<const std::string_view> prefixes = {};  // accepted beginnings; empty: any
};

struct ElementRule {
  std::string_view name;
  std::span<const std::string_view> children;
  std::span<const AttributeRule> attributes;
};

constexpr std::string_view kArchitectures[] = {"x86_64", "arm64", "ppc64"};
constexpr std::string_view kVendors[] = {"GenuineIntel", "AuthenticAMD", "CentaurHauls",
                                         "  Shanghai  "};
constexpr std::string_view kSpeeds[] = {
    "2.5 GT/s",      "5 GT/s",        "8 GT/s",         "16 GT/s",        "32 GT/s",
    "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
constexpr std::string_view kFlags[] = {"0", "1"};

constexpr AttributeRule kSystemAttributes[] = {{"version", Kind::integer, Need::required},
                                               {"name"}};
constexpr AttributeRule kCpuAttributes[] = {{"numaid", Kind::integer, Need::required},
                                            {"affinity", Kind::mask, Need::from_system},
                                            {"arch", Kind::text, Need::from_system, kArchitectures},
                                            {"vendor", Kind::text, Need::optional, kVendors},
                                            {"familyid", Kind::integer},
                                            {"modelid", Kind::integer},
                                            {"host_hash", Kind::hexadecimal}};
constexpr AttributeRule kPciAttributes[] = {{"busid", Kind::bus_id, Need::required},
                                            {"class", Kind::hexadecimal, Need::from_system},
                                            {"link_speed", Kind::text, Need::from_system, kSpeeds},
                                            {"link_width", Kind::integer, Need::from_system},
                                            {"vendor", Kind::hexadecimal},
                                            {"device", Kind::hexadecimal},
                                            {"subsystem_vendor", Kind::hexadecimal},
                                            {"subsystem_device", Kind::hexadecimal},
                                            {"keep", Kind::integer, Need::optional, kFlags}};
constexpr AttributeRule kGpuAttributes[] = {
    {"dev", Kind::integer},     {"sm", Kind::integer},
    {"rank", Kind::integer},    {"gdr", Kind::integer, Need::optional, kFlags},
    {"mlopart", Kind::integer}, {"keep", Kind::integer, Need::optional, kFlags}};
constexpr AttributeRule kNvlinkAttributes[] = {{"target", Kind::text, Need::required},
                                               {"count", Kind::integer, Need::required},
                                               {"tclass", Kind::hexadecimal, Need::from_system}};
constexpr AttributeRule kC2cAttributes[] = {{"bw", Kind::integer, Need::required},
                                            {"count", Kind::integer, Need::required}};
constexpr AttributeRule kPcilinkAttributes[] = {{"target", Kind::bus_id, Need::required}};
constexpr AttributeRule kNetAttributes[] = {{"name", Kind::text, Need::required},
                                            {"dev", Kind::integer},
                                            {"speed", Kind::integer},
                                            {"port", Kind::integer},
                                            {"latency", Kind::number},
                                            {"guid", Kind::hexadecimal},
                                            {"maxconn", Kind::integer},
                                            {"gdr", Kind::integer, Need::optional, kFlags},
                                            {"coll", Kind::integer, Need::optional, kFlags},
                                            {"net", Kind::integer, Need::optional, kFlags},
                                            {"gin", Kind::integer, Need::optional, kFlags},
                                            {"rma", Kind::integer, Need::optional, kFlags},
                                            {"rail", Kind::integer},
                                            {"plane", Kind::integer},
                                            {"keep", Kind::integer, Need::optional, kFlags}};

constexpr std::string_view kInSystem[] = {"cpu"};
constexpr std::string_view kInCpu[] = {"pci", "nic"};
constexpr std::string_view kInPci[] = {"pci", "gpu", "nic", "pcilink"};
constexpr std::string_view kInGpu[] = {"nvlink", "c2c"};
constexpr std::string_view kInNic[] = {"net"};

constexpr ElementRule kElements[] = {{"system", kInSystem, kSystemAttributes},
                                     {"cpu", kInCpu, kCpuAttributes},
                                     {"pci", kInPci, kPciAttributes},
                                     {"gpu", kInGpu, kGpuAttributes},
                                     {"nvlink", {}, kNvlinkAttributes},
                                     {"c2c", {}, kC2cAttributes},
                                     {"pcilink", {}, kPcilinkAttributes},
                                     {"nic", kInNic, {}},
                                     {"net", {}, kNetAttributes}};

const ElementRule* rule_of(std::string_view name) {
  const auto found = std::ranges::find(kElements, name, &ElementRule::name);
  return found == std::end(kElements) ? nullptr : &*found;
}

std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text.empty() ? "nothing" : text;
}

bool is_hex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return !text.empty() &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool is_number(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size();
}

bool is_integer(std::string_view text) {
  if (text.starts_with("0x")) return is_hex(text);
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size();
}

// Groups of up to eight hexadecimal digits between commas.
bool is_mask(std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 8 || !is_hex(text.substr(0, comma)) || text.starts_with("0x")) return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (text.empty() && comma == 0) return false;
  }
  return true;
}

// What is accepted when it is not what `text` is; empty: it is.
std::string_view expected(Kind kind, std::string_view text) {
  switch (kind) {
    case Kind::integer:
      return is_integer(text) ? "" : "a whole number";
    case Kind::number:
      return is_number(text) ? "" : "a number";
    case Kind::hexadecimal:
      return is_hex(text) ? "" : "a hexadecimal number such as 0x060400";
    case Kind::mask:
      return is_mask(text) && !text.empty() ? "" : "a CPU mask such as 0000ffff,0000ffff";
    case Kind::bus_id:
      return normalised_bus_id(text) ? "" : "a PCI address such as 0000:3b:00.0";
    case Kind::text:
      break;
  }
  return "";
}

class Checker {
 public:
  explicit Checker(const XmlDocument& document) : document_(document) {}

  std::vector<Finding> run() {
    for (const XmlNote& note : document_.notes) add(note.line, Severity::error, note.text);
    if (!document_.error.empty()) add(document_.error_line, Severity::error, document_.error);
    if (!document_.elements.empty()) {
      check_root(document_.elements.front());
      for (const XmlElement& element : document_.elements) check_element(element);
      check_counts();
    }
    std::ranges::stable_sort(findings_, {}, &Finding::line);
    return std::move(findings_);
  }

 private:
  void add(int line, Severity severity, std::string text) {
    findings_.push_back({line, severity, std::move(text)});
  }
  const XmlElement& at(int index) const {
    return document_.elements[static_cast<std::size_t>(index)];
  }

  void check_root(const XmlElement& root) {
    if (root.name == "topology") {
      add(root.line, Severity::error,
          "<topology> is hwloc's description, not NCCL's: thinwire topo --from-xml FILE "
          "--nccl-xml NEW translates it");
    } else if (root.name != "system") {
      add(root.line, Severity::error, "the root element is <" + root.name + ">, not <system>");
    }
    const std::string* version = root.find("version");
    if (root.name == "system" && version != nullptr && is_integer(*version) && *version != "1") {
      add(root.line, Severity::error, "<system version=\"" + *version + "\">: NCCL accepts 1 only");
    }
  }

  void check_element(const XmlElement& element) {
    const ElementRule* rule = rule_of(element.name);
    if (element.parent >= 0) check_place(element);
    if (rule == nullptr) return;
    if (element.children.size() > kMostChildren) {
      add(element.line, Severity::error, "<" + element.name + "> has more than 640 children");
    }
    if (element.name != "nic") check_attributes(element, *rule);
    if (element.name == "pci") check_pci(element);
    if (element.name == "cpu") check_cpu(element);
    if (element.name == "net") check_unique("net name", element.find("name"), element.line);
    if (element.name == "nvlink") check_nvlink(element);
  }

  void check_place(const XmlElement& element) {
    const XmlElement& parent = at(element.parent);
    const ElementRule* rule = rule_of(parent.name);
    // Whatever is inside of something unknown has been said to be ignored with it.
    if (rule == nullptr ||
        std::ranges::find(rule->children, element.name) != rule->children.end()) {
      return;
    }
    add(element.line, Severity::warning,
        "<" + element.name + "> inside <" + parent.name +
            "> is ignored; accepted there: " + listed(rule->children));
  }

  void check_attributes(const XmlElement& element, const ElementRule& rule) {
    for (const XmlAttribute& attribute : element.attributes) {
      const auto known = std::ranges::find(rule.attributes, attribute.name, &AttributeRule::name);
      if (known == rule.attributes.end()) {
        unknown_attribute(element, rule, attribute.name);
      } else {
        check_value(element, *known, attribute.value);
      }
    }
    for (const AttributeRule& each : rule.attributes) {
      if (each.need == Need::optional || element.find(each.name) != nullptr) continue;
      const bool required = each.need == Need::required;
      add(element.line, required ? Severity::error : Severity::warning,
          "<" + element.name + "> lacks " + std::string(each.name) +
              (required ? "" : "; NCCL asks the system, which a virtual machine may hide"));
    }
  }

  void unknown_attribute(const XmlElement& element, const ElementRule& rule,
                         const std::string& name) {
    std::string accepted;
    for (const AttributeRule& each : rule.attributes) {
      accepted += (accepted.empty() ? "" : ", ") + std::string(each.name);
    }
    add(element.line, Severity::warning,
        "attribute " + name + " of <" + element.name + "> is ignored; accepted are " + accepted);
  }

  void check_value(const XmlElement& element, const AttributeRule& rule, const std::string& value) {
    const std::string what =
        "<" + element.name + " " + std::string(rule.name) + "=\"" + value.substr(0, 60) + "\">: ";
    const std::string_view wanted = expected(rule.kind, value);
    if (!wanted.empty()) {
      return add(element.line, Severity::error, what + "must be " + std::string(wanted));
    }
    const auto begins = [&](std::string_view prefix) { return value.starts_with(prefix); };
    if (rule.prefixes.empty() || std::ranges::any_of(rule.prefixes, begins)) return;
    add(element.line, Severity::warning,
        what + "NCCL does not know it and goes on with a default; accepted are " +
            listed(rule.prefixes));
  }

  void check_unique(const char* what, const std::string* value, int line) {
    if (value == nullptr) return;
    const auto [first, fresh] = seen_.emplace(std::string(what) + " " + *value, line);
    if (fresh) return;
    add(line, Severity::error,
        std::string(what) + " " + *value + " is given twice, first in line " +
            std::to_string(first->second));
  }

  void check_pci(const XmlElement& element) {
    check_unique("busid", element.find("busid"), element.line);
    const std::string* width = element.find("link_width");
    int lanes = 0;
    if (width != nullptr) {
      std::from_chars(width->data(), width->data() + width->size(), lanes);
      if (is_integer(*width) && (lanes < 0 || lanes > 32)) {
        add(element.line, Severity::error, "<pci link_width=\"" + *width + "\">: 0 to 32 lanes");
      }
    }
    const std::string* kind = element.find("class");
    if (kind == nullptr) return;
    const bool is_leaf = kind->starts_with("0x03") || kind->starts_with("0x02") ||
                         kind->starts_with("0x068000") || kind->starts_with("0x068001");
    for (const int child : element.children) {
      if (!is_leaf || at(child).name != "pci") continue;
      add(at(child).line, Severity::error,
          "<pci> below a <pci class=\"" + *kind +
              "\"> is lost: only bridges, class 0x060400, "
              "have devices below them");
    }
  }

  void check_cpu(const XmlElement& element) {
    check_unique("numaid", element.find("numaid"), element.line);
    const std::string* vendor = element.find("vendor");
    if (vendor == nullptr || *vendor != "GenuineIntel") return;
    for (const char* name : {"familyid", "modelid"}) {
      if (element.find(name) != nullptr) continue;
      add(element.line, Severity::warning,
          std::string("<cpu vendor=\"GenuineIntel\"> lacks ") + name +
              "; NCCL asks the processor it runs on");
    }
  }

  // A GPU's peer is looked up by its address; anything else is taken for a switch.
  void check_nvlink(const XmlElement& element) {
    const std::string* kind = element.find("tclass");
    const std::string* target = element.find("target");
    if (kind == nullptr || target == nullptr || !kind->starts_with("0x03")) return;
    if (normalised_bus_id(*target)) return;
    add(element.line, Severity::error,
        "<nvlink target=\"" + *target + "\">: must be a PCI address such as 0000:3b:00.0");
  }

  void check_counts() {
    if (document_.elements.size() <= kMostElements) return;
    add(at(static_cast<int>(kMostElements)).line, Severity::error,
        "the file has " + std::to_string(document_.elements.size()) +
            " elements; NCCL has room for 256, with those it adds itself");
  }

  const XmlDocument& document_;
  std::vector<Finding> findings_;
  std::map<std::string, int> seen_;
};

}  // namespace

std::vector<Finding> check_nccl_xml(std::string_view text) {
  return Checker(parse_xml(text)).run();
}

}  // namespace thinwire::topology
