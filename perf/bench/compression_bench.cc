// How fast codecs and reductions are, in bytes of float32 a second (bytes of the element type for
// reductions), next to memcpy of the same elements in the same run. Sizes: 256 KiB stays in the
// second-level cache, 64 MiB does not stay in any.
//
//   compression_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
// A name says operation / SIMD target / size.

#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "compression/codec.h"
#include "compression/reduce.h"
#include "compression/simd.h"

namespace thinwire::perf {
namespace {

using compression::Codec;
using compression::CodecId;
using compression::SimdTarget;

std::vector<float> gaussian(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(std::min<std::size_t>(count, 1 << 18));
  for (float& v : values) v = normal(random);
  const std::size_t period = values.size();
  values.resize(count);
  for (std::size_t i = period; i < count; ++i) values[i] = values[i - period];
  return values;
}

// Runs `body` on `bytes` of float32 at a time.
template <class Body>
void measure(benchmark::State& state, SimdTarget target, std::size_t bytes, const Body& body) {
  compression::force_target(target);
  for (auto _ : state) {
    body();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
  compression::force_target(compression::supported_targets().back());
}

void copy(benchmark::State& state, SimdTarget target, std::size_t bytes) {
  const auto from = gaussian(bytes / 4);
  std::vector<float> to(from.size());
  measure(state, target, bytes, [&] { std::memcpy(to.data(), from.data(), bytes); });
}

void encode(benchmark::State& state, SimdTarget target, std::size_t bytes, CodecId id) {
  const Codec& codec = compression::codec(id);
  const auto from = gaussian(bytes / 4);
  std::vector<std::byte> wire(codec.max_encoded_bytes(from.size(), DataType::float32));
  std::size_t encoded = 0;
  measure(state, target, bytes, [&] {
    encoded = codec.encode(from.data(), DataType::float32, from.size(), wire.data());
  });
  state.counters["wire_per_element"] =
      static_cast<double>(encoded) / static_cast<double>(from.size());
}

std::vector<std::byte> encoded(const Codec& codec, const std::vector<float>& from) {
  std::vector<std::byte> wire(codec.max_encoded_bytes(from.size(), DataType::float32));
  wire.resize(codec.encode(from.data(), DataType::float32, from.size(), wire.data()));
  return wire;
}

void decode(benchmark::State& state, SimdTarget target, std::size_t bytes, CodecId id) {
  const Codec& codec = compression::codec(id);
  std::vector<float> out(bytes / 4);
  const auto wire = encoded(codec, gaussian(out.size()));
  measure(state, target, bytes, [&] {
    benchmark::DoNotOptimize(
        codec.decode(wire.data(), wire.size(), DataType::float32, out.size(), out.data()).ok());
  });
}

void decode_add(benchmark::State& state, SimdTarget target, std::size_t bytes, CodecId id) {
  const Codec& codec = compression::codec(id);
  std::vector<float> sum(bytes / 4);
  const auto wire = encoded(codec, gaussian(sum.size()));
  measure(state, target, bytes, [&] {
    benchmark::DoNotOptimize(
        codec.decode_add(wire.data(), wire.size(), sum.size(), sum.data()).ok());
  });
}

void reduce_sum(benchmark::State& state, SimdTarget target, std::size_t bytes, DataType type) {
  const std::size_t count = bytes / element_bytes(type);
  const std::vector<std::byte> elements(bytes);
  std::vector<std::uint64_t> sum(count * element_bytes(accumulator_type(type)) / 8 + 1);
  measure(state, target, bytes,
          [&] { compression::reduce(type, ReduceOp::sum, elements.data(), sum.data(), count); });
}

template <class... Arguments>
void add(const std::string& what, SimdTarget target, std::size_t bytes,
         void (*run)(benchmark::State&, SimdTarget, std::size_t, Arguments...),
         std::type_identity_t<Arguments>... arguments) {
  const std::string name =
      what + "/" + std::string(name_of(target)) + "/" + std::to_string(bytes >> 10) + "KiB";
  benchmark::RegisterBenchmark(
      name.c_str(), [=](benchmark::State& state) { run(state, target, bytes, arguments...); });
}

void add_target(SimdTarget target, std::size_t bytes) {
  add("memcpy", target, bytes, copy);
  for (const CodecId id : {CodecId::fp16, CodecId::int8}) {
    const std::string name(compression::codec(id).name());
    add(name + "_encode", target, bytes, encode, id);
    add(name + "_decode", target, bytes, decode, id);
    add(name + "_decode_add", target, bytes, decode_add, id);
  }
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16,
                              DataType::int8, DataType::int64, DataType::float8_e4m3}) {
    add(std::string("sum_") + name_of(type), target, bytes, reduce_sum, type);
  }
}

}  // namespace
}  // namespace thinwire::perf

int main(int argc, char** argv) {
  for (const std::size_t bytes : {std::size_t{256} << 10, std::size_t{64} << 20}) {
    for (const auto target : thinwire::compression::supported_targets()) {
      thinwire::perf::add_target(target, bytes);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
