// Machines as hwloc knows them. libhwloc.so.15 is loaded for the time of one call. Any thread;
// blocks while hwloc reads the system.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "topology/topology.h"

namespace thinwire::topology {

enum class HwlocInput : std::uint8_t {
  running,    // this machine; the text is not used
  xml,        // intact XML of hwloc's only: on some of the other hwloc ends the process
  synthetic,  // "package:2 numa:1 core:4 pu:2"
};

// Code::system_error: hwloc is not there or too old (before 2.0), or cannot read the running
// machine. Code::invalid_config: hwloc refuses the text. The status says which; nothing is logged.
// The calling thread's affinity stays as it is. Processors and memory that a cgroup withholds are
// left out.
// Source: hwloc 2.9, hwloc.h and distances.h ("NVLinkBandwidth").
Result<Machine> read_with_hwloc(HwlocInput input, const std::string& text);

}  // namespace thinwire::topology
