#include "perf/trainer/training.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include "perf/collnet_runner.h"
#include "perf/pages.h"
#include "perf/trainer/digits.h"
#include "perf/trainer/mlp.h"
#include "perf/verify.h"

namespace thinwire::perf {
namespace {

// The gradient, and its sum over all ranks in place. The options outlive it.
class GradientSum {
 public:
  GradientSum(const Options& options, PluginContext& context, std::size_t count)
      : count_(count), unused_(0), pages_(count * sizeof(float)), runner_(options, context) {
    runner_.attach(unused_, pages_);
    runner_.begin({.shape = {count, count, count}, .send = pages_.data(), .recv = pages_.data()});
  }

  std::span<float> values() { return {reinterpret_cast<float*>(pages_.data()), count_}; }
  void all_reduce() { runner_.run(1); }

 private:
  std::size_t count_;
  Pages unused_;
  Pages pages_;
  CollNetRunner runner_;
};

void shuffle(std::vector<std::size_t>& order, Random& random) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

// One step: this rank's shard of the batch, then the sum over all ranks.
void step(std::span<const std::size_t> batch, const Digits& digits, const TrainerOptions& options,
          const Session& session, Mlp& model, GradientSum& gradient) {
  const auto rank = static_cast<std::size_t>(session.rank());
  const auto ranks = static_cast<std::size_t>(session.ranks());
  const std::size_t first = batch.size() * rank / ranks;
  const std::size_t last = batch.size() * (rank + 1) / ranks;
  const std::span<float> values = gradient.values();
  std::fill(values.begin(), values.end(), 0.0F);
  for (std::size_t i = first; i < last; ++i) {
    model.add_gradient(digits.training()[batch[i]], values);
  }
  gradient.all_reduce();
  const float scale = 1.0F / static_cast<float>(batch.size());
  for (float& value : values) value *= scale;
  model.update(values, options.learning_rate, options.momentum);
}

}  // namespace

Training train(const TrainerOptions& options, PluginContext& context,
               const std::function<void(const Epoch&)>& report) {
  const Digits digits;
  Mlp model(options.hidden, options.seed);
  GradientSum gradient(options.common, context, model.weights().size());
  Training training;
  training.parameters = model.weights().size();

  Random random(~options.seed);
  std::vector<std::size_t> order(digits.training().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    shuffle(order, random);
    for (std::size_t at = 0; at < order.size(); at += options.batch) {
      const auto batch = std::span(order).subspan(at, std::min(options.batch, order.size() - at));
      step(batch, digits, options, context.session, model, gradient);
    }
    const Score trained = model.score(digits.training());
    const Score tested = model.score(digits.test());
    training.epochs.push_back({epoch, trained.loss, trained.accuracy, tested.accuracy});
    report(training.epochs.back());
  }
  training.weights_hash = hash_bytes(model.weights().data(), model.weights().size_bytes());
  return training;
}

}  // namespace thinwire::perf
