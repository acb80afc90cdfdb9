// FixedPool: N objects allocated once; take and give back without allocating.
// Owner: one object; the caller synchronises.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace thinwire {

template <class T>
class FixedPool {
 public:
  explicit FixedPool(std::size_t capacity)
      : objects_(std::make_unique<T[]>(capacity)), capacity_(capacity) {
    free_.reserve(capacity);
    for (std::size_t i = capacity; i-- > 0;) free_.push_back(&objects_[i]);
  }

  // Null when all are in use. The object is as its last user left it.
  T* try_take() {
    if (free_.empty()) return nullptr;
    T* object = free_.back();
    free_.pop_back();
    return object;
  }
  // `object` came from try_take() of this pool and is given back once.
  void give_back(T* object) { free_.push_back(object); }

  std::size_t in_use() const { return capacity_ - free_.size(); }
  std::size_t capacity() const { return capacity_; }
  T& at(std::size_t index) { return objects_[index]; }
  std::size_t index_of(const T* object) const {
    return static_cast<std::size_t>(object - objects_.get());
  }

 private:
  std::unique_ptr<T[]> objects_;
  std::vector<T*> free_;
  std::size_t capacity_;
};

}  // namespace thinwire
