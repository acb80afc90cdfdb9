// Verification of one rank's result against its Payload. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "perf/payload.h"

namespace thinwire::perf {

struct Verdict {
  std::int64_t wrong = 0;   // exact: other bits than expected; lossy: beyond Payload::lossy_bound
  bool lossy = false;       // the two errors below mean something
  double max_error = 0;     // largest error, relative to the RMS of the exact result
  double rms_error = 0;     // RMS of the errors, relative likewise
  std::uint64_t hash = 0;   // of the result's bytes
  std::string first_wrong;  // "element 17: got 3, expected 4"; "" where all are right
};

// `result` holds payload.shape.recv_count elements as `rank` received them.
Verdict verify(const Payload& payload, int rank, const void* result);

// A 64-bit hash of `bytes` bytes; the same on every machine of one byte order.
std::uint64_t hash_bytes(const void* data, std::size_t bytes);

}  // namespace thinwire::perf
