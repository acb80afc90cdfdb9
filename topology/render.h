// A Topology for people: as text, and as a picture. Pure; any thread.
#pragma once

#include <string>

#include "topology/topology.h"

namespace thinwire::topology {

// Several lines: processors, NUMA nodes, NICs, GPUs, NVLinks, and how far each GPU is from each
// NIC, with the NIC that is its own marked.
std::string text_of(const Topology& topology);

// A complete SVG document: NUMA nodes as boxes with their PCI trees, NVLink domains below.
std::string svg_of(const Topology& topology);

}  // namespace thinwire::topology
