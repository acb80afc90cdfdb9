#include "perf/pages.h"

#include <sys/mman.h>

#include <utility>

#include "perf/failure.h"
#include "perf/size_text.h"

namespace thinwire::perf {
namespace {
constexpr std::size_t kPage = 4096;
}

Pages::Pages(std::size_t bytes) : size_((bytes + kPage) / kPage * kPage) {
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Failure(ExitCode::runtime_error, "no memory for a buffer of " + size_text(size_));
  }
  data_ = static_cast<std::byte*>(memory);
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, size_);
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

}  // namespace thinwire::perf
