#include "perf/program.h"

int main(int argc, char** argv) {
  return thinwire::perf::collective_main(thinwire::perf::Collective::all_reduce, argc, argv);
}
