// Finished posts of all connections of an Endpoint that were not polled yet.
// Owner: the Endpoint; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transports/containers.h"
#include "transports/transport.h"

namespace thinwire::transports {

class Finished {
 public:
  void push(std::uint32_t connection, const Completion& completion) {
    waiting_.push_back({connection, completion});
  }
  bool empty() const { return waiting_.empty(); }

  // Moves as many as fit into `out`; returns how many.
  std::size_t drain(std::span<Completion> out) {
    std::size_t count = 0;
    for (; count < out.size() && !waiting_.empty(); ++count) {
      out[count] = waiting_.front().completion;
      waiting_.pop_front();
    }
    return count;
  }

  // Drops those of a connection that is no more.
  void forget(std::uint32_t connection) {
    for (std::size_t left = waiting_.size(); left > 0; --left) {
      const Item item = waiting_.front();
      waiting_.pop_front();
      if (item.connection != connection) waiting_.push_back(item);
    }
  }

 private:
  struct Item {
    std::uint32_t connection = 0;
    Completion completion;
  };
  Ring<Item> waiting_;
};

}  // namespace thinwire::transports
