#include "topology/hwloc_machine.h"

namespace thinwire::topology {

Result<Machine> read_with_hwloc(HwlocInput, const std::string&) {
  return Status(Code::system_error, "built without hwloc's header");
}

}  // namespace thinwire::topology
