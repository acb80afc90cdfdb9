// Finished posts of one connection that were not polled yet. Owner: a Connection; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transports/containers.h"
#include "transports/transport.h"

namespace thinwire::transports::tcp {

class Completions {
 public:
  void push(const Completion& completion) { waiting_.push_back(completion); }
  bool empty() const { return waiting_.empty(); }

  // Moves as many as fit into `out`; returns how many.
  std::size_t drain(std::span<Completion> out) {
    std::size_t count = 0;
    for (; count < out.size() && !waiting_.empty(); ++count) {
      out[count] = waiting_.front();
      waiting_.pop_front();
    }
    return count;
  }

 private:
  Ring<Completion> waiting_;
};

}  // namespace thinwire::transports::tcp
