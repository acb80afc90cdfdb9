#include "perf/trainer/mlp.h"

#include <algorithm>
#include <cmath>

namespace thinwire::perf {

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

float Random::uniform() { return static_cast<float>(next() >> 40) * 0x1p-24F; }

std::size_t Random::below(std::size_t bound) { return next() % bound; }

Mlp::Mlp(std::size_t hidden, std::uint64_t seed) : hidden_(hidden), hidden_gradient_(hidden) {
  weights_.resize(bias2() + kClasses);
  velocity_.resize(weights_.size());
  Random random(seed);
  const auto fill = [&](std::size_t first, std::size_t last, std::size_t inputs) {
    const float bound = std::sqrt(6.0F / static_cast<float>(inputs));  // He et al. 2015
    for (std::size_t i = first; i < last; ++i) weights_[i] = (2 * random.uniform() - 1) * bound;
  };
  fill(0, bias1(), kPixels);
  fill(layer2(), bias2(), hidden);
}

double Mlp::forward(const Image& image) {
  std::copy_n(&weights_[bias1()], hidden_.size(), hidden_.begin());
  for (std::size_t p = 0; p < kPixels; ++p) {
    const float* row = &weights_[p * hidden_.size()];
    for (std::size_t h = 0; h < hidden_.size(); ++h) hidden_[h] += image.pixels[p] * row[h];
  }
  std::copy_n(&weights_[bias2()], kClasses, probabilities_.begin());
  for (std::size_t h = 0; h < hidden_.size(); ++h) {
    hidden_[h] = std::max(hidden_[h], 0.0F);
    const float* row = &weights_[layer2() + h * kClasses];
    for (std::size_t c = 0; c < kClasses; ++c) probabilities_[c] += hidden_[h] * row[c];
  }
  const float largest = *std::max_element(probabilities_.begin(), probabilities_.end());
  const float logit = probabilities_[image.digit] - largest;
  float sum = 0;
  for (float& value : probabilities_) sum += value = std::exp(value - largest);
  for (float& value : probabilities_) value /= sum;
  return std::log(sum) - logit;
}

void Mlp::add_gradient(const Image& image, std::span<float> gradient) {
  forward(image);
  std::array<float, kClasses> difference = probabilities_;
  difference[image.digit] -= 1;
  for (std::size_t c = 0; c < kClasses; ++c) gradient[bias2() + c] += difference[c];
  for (std::size_t h = 0; h < hidden_.size(); ++h) {
    const std::size_t row = layer2() + h * kClasses;
    float sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      gradient[row + c] += hidden_[h] * difference[c];
      sum += weights_[row + c] * difference[c];
    }
    hidden_gradient_[h] = hidden_[h] > 0 ? sum : 0;
    gradient[bias1() + h] += hidden_gradient_[h];
  }
  for (std::size_t p = 0; p < kPixels; ++p) {
    float* row = &gradient[p * hidden_.size()];
    for (std::size_t h = 0; h < hidden_.size(); ++h)
      row[h] += image.pixels[p] * hidden_gradient_[h];
  }
}

void Mlp::update(std::span<const float> mean_gradient, float learning_rate, float momentum) {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    velocity_[i] = momentum * velocity_[i] + mean_gradient[i];
    weights_[i] -= learning_rate * velocity_[i];
  }
}

Score Mlp::score(std::span<const Image> images) {
  Score total;
  for (const Image& image : images) {
    total.loss += forward(image);
    const auto best = std::max_element(probabilities_.begin(), probabilities_.end());
    total.accuracy += best - probabilities_.begin() == image.digit ? 1 : 0;
  }
  const auto count = static_cast<double>(images.size());
  return {total.loss / count, total.accuracy / count};
}

}  // namespace thinwire::perf
