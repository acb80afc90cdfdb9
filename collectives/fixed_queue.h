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
  // These require !empty().
  const T& front() const { return items_[head_]; }
  T& front() { return items_[head_]; }
  T& back() { return items_[slot(count_ - 1)]; }
  void pop() {
    head_ = head_ + 1 == items_.size() ? 0 : head_ + 1;
    --count_;
  }
  // Requires size() < capacity.
  void push(const T& item) {
    assert(count_ < items_.size());
    items_[slot(count_)] = item;
    ++count_;
  }

 private:
  std::size_t slot(std::size_t at) const {
    const std::size_t index = head_ + at;
    return index < items_.size() ? index : index - items_.size();
  }

  std::vector<T> items_;
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace thinwire::collectives
