#include "perf/trainer/digits.h"

#include <string_view>

namespace thinwire::perf {

extern const std::string_view kDigitsText;  // data/digits.txt, by way of digits_text.cc.in

namespace {

float pixel_of(char text) {
  const int level = text <= '9' ? text - '0' : text - 'a' + 10;
  return static_cast<float>(level) / 16.0F;
}

}  // namespace

Digits::Digits() {
  constexpr std::size_t kLine = kPixels + 3;  // a space, the digit, a newline
  images_.resize(kDigitsText.size() / kLine);
  for (std::size_t i = 0; i < images_.size(); ++i) {
    const std::string_view line = kDigitsText.substr(i * kLine, kLine);
    for (std::size_t p = 0; p < kPixels; ++p) images_[i].pixels[p] = pixel_of(line[p]);
    images_[i].digit = static_cast<std::uint8_t>(line[kPixels + 1] - '0');
  }
  training_count_ = images_.size() - images_.size() / 5;
}

}  // namespace thinwire::perf
