// Random numbers that tell objects of different processes apart. Any thread.
#pragma once

#include <cstdint>

namespace thinwire::transports {

// From the kernel; never 0.
std::uint64_t random_number();

}  // namespace thinwire::transports
