// CompressCheck: the true error of one compressed all-reduce, found by doing it exactly as well
// (THINWIRE_COMPRESS_CHECK). Owner: a CollRequest; the thread that tests it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/engine.h"

namespace thinwire::plugin {

// Relative to the root mean square of the exact result; 0 for an exact result of zeros that was
// met. Where the exact result is not finite, the other must be the same or counts as an error of 1.
struct RelativeError {
  double rms = 0;
  double largest = 0;
};

// `values` and `exact` hold `count` elements of `type`: float32, float16 or bfloat16.
RelativeError relative_error(DataType type, const void* values, const void* exact,
                             std::size_t count);

class CompressCheck {
 public:
  // Copies the input: the caller's memory may be the output as well.
  explicit CompressCheck(const collectives::Call& compressed);

  // The same collective, exactly, into memory of its own.
  const collectives::Call& exact_call() const { return exact_; }
  // When both are done: "all-reduce of 1048576 float: relative error rms 6.9e-03, largest 2.1e-02".
  std::string report() const;

  collectives::Request* running = nullptr;  // the exact one; null once done

 private:
  const collectives::Call compressed_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  collectives::Call exact_;
};

}  // namespace thinwire::plugin
