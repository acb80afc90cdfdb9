// The digits data set (data/README.md), built into the program. A value; read-only after loading.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinwire::perf {

inline constexpr std::size_t kPixels = 64;
inline constexpr std::size_t kClasses = 10;

struct Image {
  std::array<float, kPixels> pixels;  // 0 to 1
  std::uint8_t digit;
};

// The last fifth is for testing. The images come in the order of their writers, so most of it is
// in hands that the training part does not contain.
class Digits {
 public:
  Digits();

  std::span<const Image> training() const { return std::span(images_).first(training_count_); }
  std::span<const Image> test() const { return std::span(images_).subspan(training_count_); }

 private:
  std::vector<Image> images_;
  std::size_t training_count_;
};

}  // namespace thinwire::perf
