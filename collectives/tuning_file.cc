#include "collectives/tuning_file.h"

#include "topology/text_file.h"

namespace thinwire::collectives {
namespace {

constexpr std::size_t kMaxTuningFileBytes = std::size_t{1} << 20;

}  // namespace

Result<CostConstants> read_tuning_file(const std::string& path, const char* origin,
                                       const Log& log) {
  if (path.empty()) return built_in_costs();
  const auto text = topology::read_text_file(path, kMaxTuningFileBytes, origin, log);
  if (!text.ok()) return text.status();
  std::string complaint;
  auto costs = parse_costs(text.value(), complaint);
  if (!costs.ok()) {
    THINWIRE_WARN(log, "%s: %s:%s", origin, path.c_str(), complaint.c_str());
  }
  return costs;
}

}  // namespace thinwire::collectives
