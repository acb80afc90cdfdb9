// The training itself: data-parallel SGD on the digits. One thread a rank.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "perf/plugin_context.h"
#include "perf/trainer/options.h"

namespace thinwire::perf {

struct Epoch {
  int number = 0;  // from 1
  double loss = 0;
  double train_accuracy = 0;
  double test_accuracy = 0;
};

struct Training {
  std::vector<Epoch> epochs;
  std::size_t parameters = 0;
  std::uint64_t weights_hash = 0;
};

// Trains on all ranks of the context's session: the same first weights everywhere, of every batch
// its shard on each rank, the gradients of both layers summed in one CollNet all-reduce. `report`
// is called after each epoch. Precondition: context.collnet() is not null. Blocks. Throws Failure.
Training train(const TrainerOptions& options, PluginContext& context,
               const std::function<void(const Epoch&)>& report);

}  // namespace thinwire::perf
