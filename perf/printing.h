// What the programs print must arrive. Main functions and rank 0; one thread.
#pragma once

#include <string>

namespace thinwire::perf {

// Flushes standard output. Throws Failure (runtime_error) where something printed is lost: a full
// disk, a closed descriptor.
void require_output();

// Prints `text` and requires that.
void print(const std::string& text);

}  // namespace thinwire::perf
