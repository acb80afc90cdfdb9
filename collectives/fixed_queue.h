// FixedQueue: first in, first out, in memory allocated once. Owner: one object; the caller
// synchronises.
#pragma once

#include <cassert>
#include <cstddef>
#include <vector>

namespace thinwire::collectives {

template <class T>
class FixedQueue {
 public:
  explicit FixedQueue(std::size_t capacity = 0) : items_(capacity) {}

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // Requires !empty().
  const T& front() const { return items_[head_]; }
  void pop() {
    head_ = head_ + 1 == items_.size() ? 0 : head_ + 1;
    --count_;
  }
  // Requires size() < capacity.
  void push(const T& item) {
    assert(count_ < items_.size());
    const std::size_t tail = head_ + count_;
    items_[tail < items_.size() ? tail : tail - items_.size()] = item;
    ++count_;
  }

 private:
  std::vector<T> items_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace thinwire::collectives
