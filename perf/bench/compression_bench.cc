// How fast codecs and reductions are, in bytes of float32 a second (bytes of the element type for
// reductions), next to memcpy of the same elements in the same run. Sizes: 256 KiB stays in the
// second-level cache, 64 MiB does not stay in any. Buffers are aligned to 64 bytes, as tensors are.
//
//   compression_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
// A name says operation / SIMD target / size.

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "compression/codec.h"
#include "compression/reduce.h"
#include "compression/simd.h"

namespace thinwire::perf {
namespace {

using compression::Codec;
using compression::SimdTarget;

// Memory as frameworks allocate it.
template <class T>
struct Aligned {
  using value_type = T;
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64)));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(64)); }
  bool operator==(const Aligned&) const { return true; }
};
using Floats = std::vector<float, Aligned<float>>;
using Bytes = std::vector<std::byte, Aligned<std::byte>>;

Floats gaussian(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Floats values(std::min<std::size_t>(count, 1 << 18));
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
  Floats to(from.size());
  measure(state, target, bytes, [&] { std::memcpy(to.data(), from.data(), bytes); });
}

std::unique_ptr<const Codec> make(const char* text) {
  return compression::make_codec(compression::parse_codec(text).value());
}

void encode(benchmark::State& state, SimdTarget target, std::size_t bytes, const char* text,
            bool feedback) {
  const auto codec = make(text);
  const auto from = gaussian(bytes / 4);
  // Long vectors are encoded in pieces, as the Engine does.
  const std::size_t piece = std::min<std::size_t>(from.size(), 128 << 10);
  const std::size_t pieces = from.size() / piece;
  const std::size_t room = codec->max_encoded_bytes(piece, DataType::float32);
  Bytes wire(room * pieces);
  Floats residual(feedback ? from.size() : 0);
  std::vector<std::uint32_t> limits(pieces);  // a known tensor has both
  std::size_t encoded = 0;
  measure(state, target, bytes, [&] {
    encoded = 0;
    for (std::size_t p = 0; p < pieces; ++p) {
      compression::EncodeContext context;
      if (feedback) context = {.residual = residual.data() + p * piece, .limit = &limits[p]};
      encoded += codec->encode(from.data() + p * piece, DataType::float32, piece,
                               wire.data() + p * room, context);
    }
  });
  state.counters["wire_per_element"] =
      static_cast<double>(encoded) / static_cast<double>(from.size());
}

Bytes encoded(const Codec& codec, const Floats& from) {
  Bytes wire(codec.max_encoded_bytes(from.size(), DataType::float32));
  wire.resize(codec.encode(from.data(), DataType::float32, from.size(), wire.data()));
  return wire;
}

void decode(benchmark::State& state, SimdTarget target, std::size_t bytes, const char* text) {
  const auto codec = make(text);
  Floats out(bytes / 4);
  const auto wire = encoded(*codec, gaussian(out.size()));
  measure(state, target, bytes, [&] {
    benchmark::DoNotOptimize(
        codec->decode(wire.data(), wire.size(), DataType::float32, out.size(), out.data()).ok());
  });
}

void decode_add(benchmark::State& state, SimdTarget target, std::size_t bytes, const char* text) {
  const auto codec = make(text);
  Floats sum(bytes / 4);
  const auto wire = encoded(*codec, gaussian(sum.size()));
  measure(state, target, bytes, [&] {
    benchmark::DoNotOptimize(
        codec->decode_add(wire.data(), wire.size(), sum.size(), sum.data()).ok());
  });
}

// What an owner does last, in one pass (fused) or in two.
void add_encode(benchmark::State& state, SimdTarget target, std::size_t bytes, const char* text,
                bool fused) {
  const auto codec = make(text);
  Floats sum(bytes / 4);
  const auto from = encoded(*codec, gaussian(sum.size()));
  Bytes wire(codec->max_encoded_bytes(sum.size(), DataType::float32));
  // The first sums are the elements; later ones grow, which changes nothing.
  measure(state, target, bytes, [&] {
    const auto written = fused
                             ? codec->decode_add_encode(from.data(), from.size(), sum.size(),
                                                        sum.data(), wire.data(), {})
                             : codec->Codec::decode_add_encode(from.data(), from.size(), sum.size(),
                                                               sum.data(), wire.data(), {});
    benchmark::DoNotOptimize(written.ok());
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
  for (const char* const text : {"fp16", "bf16", "int8", "int4", "fp8-e4m3", "fp8-e5m2",
                                 "topk:0.01", "topk:0.001", "topk:0.01:fp16"}) {
    const std::string name(text);
    add(name + "_encode", target, bytes, encode, text, false);
    add(name + "_encode_feedback", target, bytes, encode, text, true);
    add(name + "_decode", target, bytes, decode, text);
    add(name + "_decode_add", target, bytes, decode_add, text);
  }
  for (const char* const text : {"bf16:sr", "int8:sr", "int4:sr", "fp8-e4m3:sr", "fp8-e5m2:sr"}) {
    add(std::string(text) + "_encode", target, bytes, encode, text, false);
  }
  for (const char* const text : {"fp16", "int8", "int4", "fp8-e4m3"}) {
    add(std::string(text) + "_add_encode_fused", target, bytes, add_encode, text, true);
    add(std::string(text) + "_add_encode_in_two", target, bytes, add_encode, text, false);
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
