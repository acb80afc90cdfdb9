// Whether what a program printed has arrived. For the programs' main functions; one thread.
#pragma once

#include <string>

namespace thinwire {

// Flushes standard output. "", or why something that was printed on it, now or before, is lost: a
// full disk, a closed descriptor. Blocks as a write does.
std::string flush_output();

// For the end of main: `status`; where standard output could not be written, says so on standard
// error and returns `failed` instead, unless `status` is a failure already.
int finish_output(int status, int failed);

}  // namespace thinwire
