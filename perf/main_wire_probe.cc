#include "perf/program.h"

int main(int argc, char** argv) { return thinwire::perf::wire_probe_main(argc, argv); }
