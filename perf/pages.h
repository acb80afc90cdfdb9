// Pages: page-aligned, zeroed memory for buffers that plugins register. Owner: one object.
#pragma once

#include <cstddef>

namespace thinwire::perf {

class Pages {
 public:
  // Throws Failure (runtime_error) where there is not enough memory. 0 bytes give one page.
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thinwire::perf
