// Machines from hwloc's XML, read without hwloc: on damaged files hwloc ends the process, and it
// never says where the damage is. Pure; any thread.
#pragma once

#include <string>

#include "base/log.h"
#include "base/status.h"
#include "topology/topology.h"

namespace thinwire::topology {

// What lstopo of hwloc 1.x or 2.x writes. Processors and memory that are not allowed are left out,
// as hwloc does. What is missing is unknown; what is malformed is logged as "FILE:LINE: what" and
// fails with Code::invalid_config.
// Information hwloc lacks may be added to a network device with hwloc-annotate, as an info
// attribute SpeedMbps. Source: hwloc 2.9, hwloc/topology-xml.c and hwloc2.dtd.
Result<Machine> read_hwloc_xml(const std::string& text, const std::string& file, const Log& log);

}  // namespace thinwire::topology
