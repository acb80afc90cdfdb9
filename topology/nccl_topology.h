// NCCL's topology files (NCCL_TOPO_FILE): writing one, and saying what is wrong with one. Pure; any
// thread.
//
// NCCL reads them with a parser of its own that knows part of XML only, looks up by bus address
// what it finds of GPUs and NICs, and asks sysfs for what a file leaves out. Virtual machines hide
// the PCI tree from sysfs; there the file says which devices share a switch.
// Source: NCCL 2.30, src/graph/xml.cc, xml.h, topo.cc, topo.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.h"

namespace thinwire::topology {

// NUMA nodes with the GPUs and NICs below them, and those bridges at which paths part. GPUs' own
// properties and NVLinks are left to NCCL, which asks the driver.
std::string nccl_xml_of(const Topology& topology);

enum class Severity : std::uint8_t {
  error,    // NCCL refuses the file, or crashes, or loses devices that the file names
  warning,  // NCCL goes on with something else than what is written
};

struct Finding {
  int line = 0;
  Severity severity = Severity::error;
  std::string text;  // which element or attribute, what is wrong, what is accepted
};

// Findings by line; none: NCCL takes the file as it stands.
std::vector<Finding> check_nccl_xml(std::string_view text);

}  // namespace thinwire::topology
