// Two small containers of the transports' data paths. Owner: one object, one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace thinwire::transports {

// A queue in one growing array: no allocation once it has its size.
template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return items_[(head_ + index) & (items_.size() - 1)]; }
  T& front() { return (*this)[0]; }

  void push_back(T item) {
    grow_if_full();
    items_[(head_ + size_++) & (items_.size() - 1)] = std::move(item);
  }
  void push_front(T item) {
    grow_if_full();
    head_ = (head_ + items_.size() - 1) & (items_.size() - 1);
    items_[head_] = std::move(item);
    ++size_;
  }
  void pop_front() {
    head_ = (head_ + 1) & (items_.size() - 1);
    --size_;
  }
  void pop_back() { --size_; }
  void clear() { head_ = size_ = 0; }

 private:
  void grow_if_full() {
    if (size_ < items_.size()) return;
    std::vector<T> larger(items_.empty() ? 16 : 2 * items_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    items_ = std::move(larger);
    head_ = 0;
  }

  std::vector<T> items_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

// Objects with stable addresses, used again after give_back(). T has a member `bool live`, and is
// as its last user left it.
template <class T>
class Recycler {
 public:
  T* take() {
    T* object;
    if (free_.empty()) {
      object = &objects_.emplace_back();
    } else {
      object = free_.back();
      free_.pop_back();
    }
    object->live = true;
    ++in_use_;
    return object;
  }
  void give_back(T* object) {
    object->live = false;
    free_.push_back(object);
    --in_use_;
  }
  std::size_t in_use() const { return in_use_; }

  template <class Condition>
  bool any_live(Condition&& condition) const {
    return std::ranges::any_of(objects_,
                               [&](const T& object) { return object.live && condition(object); });
  }
  template <class Visit>
  void for_each_live(Visit&& visit) {
    for (T& object : objects_) {
      if (object.live) visit(object);
    }
  }

 private:
  std::deque<T> objects_;
  std::vector<T*> free_;
  std::size_t in_use_ = 0;
};

}  // namespace thinwire::transports
