#include "topology/discover.h"

#include <utility>

#include "topology/hwloc_machine.h"
#include "topology/hwloc_xml.h"
#include "topology/nvml.h"
#include "topology/sysfs.h"
#include "topology/text_file.h"

namespace thinwire::topology {
namespace {

constexpr std::size_t kMaxXmlBytes = std::size_t{16} << 20;

Machine running_machine(const DiscoverOptions& options, const Log& log) {
  if (options.use_hwloc) {
    auto machine = read_with_hwloc(HwlocInput::running, {});
    if (machine.ok()) {
      complete_from_sysfs(options.sysfs_root, machine.value());
      return std::move(machine).value();
    }
    THINWIRE_INFO(log, "topology: %s; sysfs is read instead", machine.status().text());
  }
  return read_sysfs(options.sysfs_root, allowed_cores());
}

}  // namespace

Result<Topology> discover(const DiscoverOptions& options, const Log& log) {
  if (!options.xml_file.empty()) {
    const auto text = read_text_file(options.xml_file, kMaxXmlBytes, "hwloc XML", log);
    if (!text.ok()) return text.status();
    auto machine = read_hwloc_xml(text.value(), options.xml_file, log);
    if (!machine.ok()) return machine.status();
    return Topology(std::move(machine).value());
  }
  if (!options.synthetic.empty()) {
    auto machine = read_with_hwloc(HwlocInput::synthetic, options.synthetic);
    if (machine.ok()) return Topology(std::move(machine).value());
    THINWIRE_WARN(log, "synthetic description '%.200s': %s", options.synthetic.c_str(),
                  machine.status().text());
    return Status(Code::invalid_config, "the description of a machine cannot be used");
  }
  Machine machine = running_machine(options, log);
  if (options.use_nvml) (void)complete_from_nvml(machine);
  return Topology(std::move(machine));
}

}  // namespace thinwire::topology
