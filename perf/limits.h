// The operating system's limits in messages: which one was met, and how high it is. Any thread.
#pragma once

#include <string>

namespace thinwire::perf {

// What errno `error` means; where it is a limit, its value and how to see it.
std::string error_text(int error);

// Out of descriptors, processes or memory: trying again does not help.
bool is_exhaustion(int error);

// Where this process has (nearly) no file descriptor left: "; 60 of its 64 file descriptors are in
// use (ulimit -n)". Else "". For errors of libraries that do not say so.
std::string descriptor_hint();

}  // namespace thinwire::perf
