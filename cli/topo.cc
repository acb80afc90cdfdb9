#include <cstdio>
#include <utility>

#include "cli/commands.h"
#include "cli/write_file.h"
#include "topology/discover.h"
#include "topology/nccl_topology.h"
#include "topology/rails.h"
#include "topology/render.h"
#include "topology/text_file.h"

namespace thinwire::cli {
namespace {

constexpr std::size_t kMaxNcclFileBytes = std::size_t{16} << 20;

int check(const std::string& path, const Log& log) {
  const auto text = topology::read_text_file(path, kMaxNcclFileBytes, "--check", log);
  if (!text.ok()) return 1;
  int errors = 0;
  int warnings = 0;
  for (const topology::Finding& finding : topology::check_nccl_xml(text.value())) {
    const bool is_error = finding.severity == topology::Severity::error;
    ++(is_error ? errors : warnings);
    std::printf("%s:%d: %s: %s\n", path.c_str(), finding.line, is_error ? "error" : "warning",
                finding.text.c_str());
  }
  std::printf("%s: %d errors, %d warnings\n", path.c_str(), errors, warnings);
  return errors == 0 ? 0 : 1;
}

Result<topology::Topology> find_topology(const TopoOptions& options, const Log& log) {
  topology::DiscoverOptions discover;
  discover.xml_file = options.from_xml;
  discover.synthetic = options.synthetic;
  if (!discover.xml_file.empty() || !discover.synthetic.empty()) {
    return topology::discover(discover, log);
  }
  const auto config = parse_config(with_nccl_files(process_environment()), log);
  if (!config.ok()) return config.status();
  discover.xml_file = config.value().hwloc_xml;
  const auto found = topology::discover(discover, log);
  if (!found.ok()) return found.status();
  topology::Machine machine = found.value().machine();
  topology::name_rails(DeviceList(config.value().ib_hca), DeviceList(config.value().socket_ifname),
                       machine);
  return topology::Topology(std::move(machine));
}

}  // namespace

int show_topology(const TopoOptions& options, const Log& log) {
  if (!options.check.empty()) return check(options.check, log);
  const auto topology = find_topology(options, log);
  if (!topology.ok()) return 1;
  bool written = true;
  if (!options.svg.empty()) written &= write_file(options.svg, svg_of(topology.value()));
  if (!options.nccl_xml.empty()) {
    written &= write_file(options.nccl_xml, nccl_xml_of(topology.value()));
  }
  if (options.svg.empty() && options.nccl_xml.empty()) {
    std::fputs(text_of(topology.value()).c_str(), stdout);
  }
  return written ? 0 : 1;
}

}  // namespace thinwire::cli
