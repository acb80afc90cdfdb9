#include "perf/result.h"

namespace thinwire::perf {

Summary summarize(const std::vector<Row>& rows) {
  Summary summary;
  int measurements = 0;
  for (const Row& row : rows) {
    for (const auto* measured : {&row.out_of_place, &row.in_place}) {
      if (!*measured) continue;
      const Measurement& m = **measured;
      ++measurements;
      summary.average_bus_bandwidth += m.bus_bw;
      const bool wrong = m.wrong.value_or(0) != 0 || !m.hashes_equal.value_or(true);
      if (wrong) ++summary.out_of_bounds;
    }
  }
  if (measurements > 0) summary.average_bus_bandwidth /= measurements;
  return summary;
}

}  // namespace thinwire::perf
