// Mlp: 64 pixels, one hidden layer with ReLU, 10 classes with softmax and cross-entropy; SGD with
// momentum. Every sum has one fixed order, so equal inputs give equal bits. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perf/trainer/digits.h"

namespace thinwire::perf {

// The same sequence everywhere, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();                  // splitmix64
  float uniform();                       // [0, 1)
  std::size_t below(std::size_t bound);  // [0, bound), bound > 0

 private:
  std::uint64_t state_;
};

struct Score {
  double loss = 0;      // mean cross-entropy
  double accuracy = 0;  // 0 to 1
};

class Mlp {
 public:
  Mlp(std::size_t hidden, std::uint64_t seed);

  // Weights and biases of both layers, one after another; a gradient has the same order.
  std::span<const float> weights() const { return weights_; }

  // Adds the gradient of the summed loss of one image. `gradient` has weights().size() elements.
  void add_gradient(const Image& image, std::span<float> gradient);

  // One step down the mean gradient.
  void update(std::span<const float> mean_gradient, float learning_rate, float momentum);

  // Precondition: images is not empty.
  Score score(std::span<const Image> images);

 private:
  // Fills hidden_ and probabilities_; returns the loss.
  double forward(const Image& image);

  // Where each layer lies in the flat order: first layer [pixel][hidden], its bias, second layer
  // [hidden][class], its bias.
  std::size_t bias1() const { return kPixels * hidden_.size(); }
  std::size_t layer2() const { return bias1() + hidden_.size(); }
  std::size_t bias2() const { return layer2() + kClasses * hidden_.size(); }

  std::vector<float> hidden_;
  std::vector<float> hidden_gradient_;
  std::array<float, kClasses> probabilities_{};
  std::vector<float> weights_;
  std::vector<float> velocity_;
};

}  // namespace thinwire::perf
