// TileMemory: where the running tiles' staging lies. Owner: the Engine; one thread.
//
// Tiles take memory in the order they start and give it back in that order. What may run depends on
// the tiles' sizes and the oldest one that runs alone, never on where they happen to lie: were one
// rank allowed further ahead than its peer, its messages could fill the transport's window with
// what the peer cannot take yet.
#pragma once

#include <cstddef>
#include <optional>

#include "collectives/fixed_queue.h"

namespace thinwire::collectives {

class TileMemory {
 public:
  // For at most `max_tiles` tiles of at most `largest_bytes` each, `budget_bytes` in all. Requires
  // 1 <= largest_bytes <= budget_bytes.
  TileMemory(std::size_t max_tiles, std::size_t largest_bytes, std::size_t budget_bytes)
      : live_(max_tiles),
        max_tiles_(max_tiles),
        budget_(budget_bytes),
        capacity_(budget_bytes + largest_bytes) {}

  // Of all the memory: beside the budget room for what is left over at its end.
  std::size_t capacity() const { return capacity_; }

  // The offset of the next tile's memory; nothing while it has to wait for older ones. Requires
  // bytes <= largest_bytes.
  std::optional<std::size_t> try_take(std::size_t bytes) {
    if (live_.size() == max_tiles_ || used_ + bytes > budget_) return std::nullopt;
    if (live_.empty()) next_ = 0;  // the memory that was used last is warm
    if (next_ + bytes > capacity_) next_ = 0;
    const std::size_t offset = next_;
    live_.push(bytes);
    used_ += bytes;
    next_ += bytes;
    return offset;
  }

  // Requires a tile that runs.
  void give_back_oldest() {
    used_ -= live_.front();
    live_.pop();
  }

 private:
  FixedQueue<std::size_t> live_;
  const std::size_t max_tiles_;
  const std::size_t budget_;
  const std::size_t capacity_;
  std::size_t used_ = 0;
  std::size_t next_ = 0;
};

}  // namespace thinwire::collectives
