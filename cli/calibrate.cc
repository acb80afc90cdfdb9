#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "cli/calibrate_link.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/write_file.h"
#include "collectives/cost_constants.h"
#include "compression/codec.h"
#include "compression/reduce.h"

namespace thinwire::cli {
namespace {

using collectives::CostConstants;
using compression::CodecId;

// A tile's piece, as the Engine moves it: it fits the caches.
constexpr std::size_t kElements = 32 * 1024;
constexpr int kRepetitions = 25;
constexpr int kCallsEach = 40;

// The median rate of `call` on kElements float32, GB/s.
template <class Call>
double rate_of(Call call) {
  const SteadyClock clock;
  std::vector<double> rates;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const auto begin = clock.now_ns();
    for (int i = 0; i < kCallsEach; ++i) call();
    const auto took = std::max<std::int64_t>(1, clock.now_ns() - begin);
    rates.push_back(static_cast<double>(kElements * sizeof(float) * kCallsEach) /
                    static_cast<double>(took));
  }
  std::nth_element(rates.begin(), rates.begin() + kRepetitions / 2, rates.end());
  return rates[kRepetitions / 2];
}

void measure_codec(CodecId id, const std::vector<float>& input, std::vector<float>& sum,
                   CostConstants& costs) {
  compression::CodecSpec spec;
  spec.id = id;
  if (id == CodecId::topk) spec.ratio = 0.01f;
  const auto codec = compression::make_codec(spec);
  std::vector<std::byte> wire(codec->max_encoded_bytes(kElements, DataType::float32));
  std::size_t bytes = 0;
  auto& speed = costs.codecs[static_cast<std::size_t>(id)];
  speed.encode_gbytes_per_s = rate_of(
      [&] { bytes = codec->encode(input.data(), DataType::float32, kElements, wire.data()); });
  bool decoded = true;
  speed.decode_gbytes_per_s = rate_of([&] {
    decoded = decoded && codec->decode_add(wire.data(), bytes, kElements, sum.data()).ok();
  });
}

void measure_memory(CostConstants& costs) {
  std::vector<float> input(kElements);
  // Not all alike, as gradients are: values of many magnitudes, both signs.
  std::uint32_t state = 1;
  for (float& value : input) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 1e-10f;
  }
  std::vector<float> sum(kElements, 1.0f);
  costs.copy_gbytes_per_s =
      rate_of([&] { std::memcpy(sum.data(), input.data(), kElements * sizeof(float)); });
  costs.reduce_gbytes_per_s = rate_of([&] {
    compression::reduce(DataType::float32, ReduceOp::sum, input.data(), sum.data(), kElements);
  });
  for (std::size_t id = 1; id < collectives::kCodecIds; ++id) {
    measure_codec(static_cast<CodecId>(id), input, sum, costs);
  }
}

}  // namespace

int calibrate(const CalibrateOptions& options) {
  if (options.listen_port != 0) return answer_link_measurements(options.listen_port);
  CostConstants costs = collectives::built_in_costs();
  measure_memory(costs);
  const auto local = measure_loopback();
  if (!local.ok()) return 1;
  costs.links[0] = local.value().link;
  costs.message_us = local.value().message_us;
  std::string header =
      "# Written by `thinwire calibrate`. For thinwire plan --tuning-file.\n"
      "# Measured: one core's speeds, loopback (host).\n";
  if (options.connect.empty()) {
    header += "# Built in: rack and site. Measure them with --listen here and --connect there.\n";
  } else {
    const auto link = measure_link(options.connect);
    if (!link.ok()) return 1;
    costs.links[1] = link.value().link;
    costs.links[2] = link.value().link;
    header += "# Measured to " + options.connect + ": rack; taken for site too.\n";
  }
  return write_file(options.output, header + costs_text(costs)) ? 0 : 1;
}

}  // namespace thinwire::cli
