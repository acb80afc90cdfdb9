// The programs' common main: options, ranks, transport, benchmark, output.
#pragma once

#include "perf/collective.h"

namespace thinwire::perf {

// main() of all_reduce_perf and its siblings. Returns the exit status.
int collective_main(Collective collective, int argc, char** argv);

// main() of wire_probe.
int wire_probe_main(int argc, char** argv);

}  // namespace thinwire::perf
